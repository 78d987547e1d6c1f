// Which fields of a request may say who its caller is.
#pragma once
#include <string_view>

namespace onceguard::http {

/// Whether a field can tell callers apart who send no credential: every one can, but those that say
/// how a request came, and those that differ from one try of a request to the next. A list of what
/// tells callers apart would never be complete; whoever is missing in it gets another one's answer.
[[nodiscard]] bool tells_callers_apart(std::string_view name) noexcept;

/// Whether a field's name says that it is about the caller. Such fields reach the upstream whatever
/// the client's Connection says, and never as a trailer.
[[nodiscard]] bool names_a_caller(std::string_view name) noexcept;

}  // namespace onceguard::http
