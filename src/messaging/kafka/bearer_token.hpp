// The token of SASL OAUTHBEARER, from a file that somebody renews.
#pragma once
#include <cstdint>
#include <librdkafka/rdkafka.h>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

namespace onceguard::messaging::kafka {

struct bearer_token {
  std::string text;
  std::string principal;     ///< its subject
  std::int64_t expires = 0;  ///< milliseconds since 1970
};

/// A JWT (RFC 7519) with `sub` and `exp`. The error never repeats it.
[[nodiscard]] result<bearer_token> read_token(std::string_view text);
/// The same of the file's one line. The error names the file.
[[nodiscard]] result<bearer_token> read_token_file(const std::string& path);

/// librdkafka's callback: `path` names the file. It comes again when the token is about to expire,
/// and ten seconds after a failure.
void renew_token(rd_kafka_t* client, const char* path, void* opaque) noexcept;

}  // namespace onceguard::messaging::kafka
