// Forms and queries (application/x-www-form-urlencoded).
#pragma once
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onceguard::base {

using form_fields = std::vector<std::pair<std::string, std::string>>;

/// The decoded names and values, in their order; empty: an escape is malformed, or there are more
/// than `fields_max`. Each field costs some 100 bytes of memory, also an empty one.
[[nodiscard]] std::optional<form_fields> parse_form(
    std::string_view text, std::size_t fields_max = std::numeric_limits<std::size_t>::max());

}  // namespace onceguard::base
