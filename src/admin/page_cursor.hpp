// Where a page of records ends and the next one begins, as the API writes it.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

namespace onceguard::admin {

/// The cursor of a store is bytes; that of the API is their hex digits.
[[nodiscard]] std::string cursor_text(std::string_view cursor);
[[nodiscard]] result<std::string> read_cursor(std::string_view text);

}  // namespace onceguard::admin
