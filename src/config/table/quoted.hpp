// Values of the configuration in a message. It is logged, copied, and shown to whoever may view
// events: no place for a password or a token.
#pragma once
#include <string>
#include <string_view>

namespace onceguard::config {

/// The text in quotes, safe to print; of a URL in it, without user, password, query and fragment.
[[nodiscard]] std::string quoted(std::string_view text);
/// The same of what was to be a URL, or a path with a query, and may lack the scheme.
[[nodiscard]] std::string quoted_url(std::string_view text);

}  // namespace onceguard::config
