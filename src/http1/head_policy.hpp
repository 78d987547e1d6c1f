// Checks a head that llhttp has parsed, and determines body and connection from its fields.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "http1/message.hpp"

namespace onceguard::http1 {

// The rules for request lines and status lines, stricter than those of llhttp.

// The methods that the gateway accepts in requests.

/// Whether the gateway accepts this method. The gateway answers 501 to other methods.
[[nodiscard]] bool is_known_method(std::string_view method) noexcept;

/// Checks a line without its line end. Empty: no fault. The method may be unknown to llhttp.
[[nodiscard]] std::optional<fault> check_request_line(std::string_view line,
                                                      std::size_t target_bytes_max) noexcept;
[[nodiscard]] std::optional<fault> check_status_line(std::string_view line) noexcept;

/// Whether a request line can be made with this target: no space, and no control character.
[[nodiscard]] bool is_target(std::string_view text) noexcept;

/// "host", "host:port" or "[address]:port", without user information. The host must not be empty.
[[nodiscard]] bool is_authority(std::string_view text, bool port_required = false) noexcept;

/// The authority of a target in absolute form ("http://HOST/path"); empty for other forms.
[[nodiscard]] std::optional<std::string_view> authority_of(std::string_view target) noexcept;

/// Whether the authority of a target in absolute form equals a Host field. Either may omit the
/// scheme's port or have an empty port.
[[nodiscard]] bool is_same_authority(std::string_view target, std::string_view host) noexcept;

/// The kind of request that an answer belongs to, as far as the answer's framing depends on it.
enum class request_kind : std::uint8_t { another, head, connect };

/// Checks the fields of a request and fills in `parsed` from them. `parsed` already has its start
/// line and fields. Empty: no fault.
[[nodiscard]] std::optional<fault> check_request(head& parsed) noexcept;

/// The same for an answer.
[[nodiscard]] std::optional<fault> check_answer(head& parsed, request_kind request) noexcept;

/// Checks a chunk's first line without its line end: a size of at most 16 digits, and extensions.
[[nodiscard]] std::optional<fault> check_chunk_line(std::string_view line) noexcept;

}  // namespace onceguard::http1
