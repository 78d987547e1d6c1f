// Large bytes as a JSON string, written without another copy of them.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace onceguard::serve {

/// The length of the bytes as a JSON string, with its quotes; empty: they are no UTF-8.
[[nodiscard]] std::optional<std::size_t> json_string_size(std::string_view bytes);
/// Appends them as a JSON string; they must be UTF-8.
void append_json_string(std::string& out, std::string_view utf8);

}  // namespace onceguard::serve
