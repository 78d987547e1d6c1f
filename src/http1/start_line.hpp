// The rules for a request line and a status line, stricter than llhttp's.
#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

#include "http1/message.hpp"

namespace onceguard::http1 {

/// `line` without its line end. Nothing where it is fine; methods are known or not to llhttp.
[[nodiscard]] std::optional<fault> check_request_line(std::string_view line,
                                                      std::size_t target_bytes_max) noexcept;
[[nodiscard]] std::optional<fault> check_status_line(std::string_view line) noexcept;

/// "host", "host:port", "[address]:port", without user information. An empty host is none.
[[nodiscard]] bool is_authority(std::string_view text, bool port_required = false) noexcept;

/// The authority of a target in absolute form ("http://HOST/path"); nothing for other forms.
[[nodiscard]] std::optional<std::string_view> authority_of(std::string_view target) noexcept;

/// Is the authority of a target in absolute form that of a Host field? The port of the scheme may
/// be left out or be empty in either.
[[nodiscard]] bool is_same_authority(std::string_view target, std::string_view host) noexcept;

}  // namespace onceguard::http1
