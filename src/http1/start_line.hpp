// The rules for request lines and status lines, stricter than those of llhttp; and for what stands
// in them: methods, targets, authorities.
#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

#include "http1/message.hpp"

namespace onceguard::http1 {

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

}  // namespace onceguard::http1
