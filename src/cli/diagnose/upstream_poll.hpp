// Looks at an upstream with requests that change nothing: HEAD, GET and OPTIONS.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnosis.hpp"
#include "gateway/params/gateway_params.hpp"
#include "http1/message.hpp"

namespace onceguard::cli::diagnose {

/// What came to one of them.
struct polled_answer {
  std::string method;
  std::string path;  ///< as asked, without the path of the upstream's URL
  std::uint16_t status = 0;
  std::uint8_t minor = 1;  ///< of HTTP/1.minor
  http1::body_kind body = http1::body_kind::none;
  std::vector<std::pair<std::string, std::string>> fields;  ///< in their order
  std::string beginning;                                    ///< of the body
  std::int64_t arrived_ms = 0;                              ///< by the clock of this machine
  std::int64_t taken_ms = 0;

  /// The first field of this name; empty: there is none.
  [[nodiscard]] std::string_view field(std::string_view name) const;
};

struct upstream_poll {
  std::string title;      ///< its name and address
  std::string base_path;  ///< the path of its URL, before each path
  std::vector<polled_answer> answers;
  /// The first redirect to a whole URL, asked for once more as another host.
  std::optional<polled_answer> renamed;
  /// Why there is no answer to the first request.
  std::optional<base::diagnosis> obstacle;
};

/// The requests that are sent for each path.
inline constexpr const char* harmless_methods[]{"HEAD", "GET", "OPTIONS"};

/// The host of `renamed`, which nobody has (RFC 6761).
inline constexpr const char* another_host = "onceguard.invalid";

[[nodiscard]] constexpr bool is_redirect(std::uint16_t status) noexcept {
  return status == 301 || status == 302 || status == 307 || status == 308;
}

/// Asks for each path. Of a body only the beginning is read. A path that gives no answer in time is
/// left out, unless it is the first.
[[nodiscard]] upstream_poll poll_upstream(const gateway::upstream_params& upstream,
                                          const gateway::gateway_params& params,
                                          const std::vector<std::string>& paths);

}  // namespace onceguard::cli::diagnose
