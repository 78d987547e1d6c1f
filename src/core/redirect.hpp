// A redirect: an operation that goes on under its own key at another place.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/record.hpp>

namespace onceguard::core {

/// Where a redirect leads, as the target of the next request ("/pay/?a=1"); empty: the answer is
/// none that asks for the same request elsewhere (RFC 9110 sections 15.4.8 and 15.4.9). After 301
/// and 302 clients go on with a GET, and services answer both, and 303, once the work is done.
/// `path` is that of the request. A host in the Location is left out: proxies rewrite it.
[[nodiscard]] std::optional<std::string> redirect_target(const answer& made, std::string_view path);

/// The host that a Location names, with its port; empty: none.
[[nodiscard]] std::string_view redirect_host(const answer& made) noexcept;

/// The scope of the step behind a redirect. The key stays the same, and its record is another one.
[[nodiscard]] digest redirected_scope(const digest& scope, std::string_view target);

inline constexpr std::string_view redirect_kind = "redirect";  ///< of such a scope

}  // namespace onceguard::core
