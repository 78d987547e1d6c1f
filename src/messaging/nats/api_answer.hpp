// The server's answers in JSON, where libnats has no call that reads them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace onceguard::messaging::nats {

struct refused_publication {
  std::string why;
  bool full = false;  ///< the stream, or the server, has no room; nothing is wrong with the message
};
/// Why a publication was refused; nullopt: a stream has stored the message, now or before.
[[nodiscard]] std::optional<refused_publication> refusal_in(std::string_view publish_answer);

/// The headers of a stored message as bytes, from the answer to a STREAM.MSG.GET; nullopt: the
/// answer has none.
[[nodiscard]] std::optional<std::string> stored_headers_in(std::string_view get_answer);

/// A whole number that is a member of an object; nullopt: there is none.
[[nodiscard]] std::optional<std::uint64_t> number_in(std::string_view text, std::string_view name);

}  // namespace onceguard::messaging::nats
