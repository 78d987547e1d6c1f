// Forms and queries (application/x-www-form-urlencoded).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onceguard::base {

using form_fields = std::vector<std::pair<std::string, std::string>>;

/// The decoded names and values, in their order; empty: an escape is malformed.
[[nodiscard]] std::optional<form_fields> parse_form(std::string_view text);

}  // namespace onceguard::base
