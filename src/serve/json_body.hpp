// How long a large body is as a JSON string, so that it is written without another copy of it.
#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

namespace onceguard::serve {

/// The bytes that append_json_string() would add; empty: these are no UTF-8.
[[nodiscard]] std::optional<std::size_t> json_string_size(std::string_view bytes);

}  // namespace onceguard::serve
