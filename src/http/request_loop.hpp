// A request whose way leads back to a gateway would run in a circle, until every connection is
// taken.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include "base/field.hpp"

namespace onceguard::http {

/// The processes that a request has come through (RFC 8586).
inline constexpr std::string_view loop_field = "CDN-Loop";
/// The gateways and proxies that a request has come through (RFC 9110 section 7.6.3).
inline constexpr std::string_view via_field = "Via";
/// What this gateway adds to `Via`, for a request in HTTP/1.`minor`.
[[nodiscard]] std::string_view via_element(int minor) noexcept;
/// Why a request seems to run in a circle: `CDN-Loop` has `mark` in it, or `Via` has more than
/// `max_hops` gateways of Onceguard. The latter also finds a circle in which each round meets
/// another process, or in which somebody removes `CDN-Loop`. Empty: it does not.
[[nodiscard]] std::string_view circle_fault(std::span<const base::field> fields,
                                            std::string_view mark, std::size_t max_hops);

}  // namespace onceguard::http
