#include "admin/page_cursor.hpp"

#include <span>
#include <vector>

#include "base/hash.hpp"
#include "base/hex.hpp"

namespace onceguard::admin {

std::string cursor_text(std::string_view cursor) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(cursor.data());
  return base::to_hex(std::span(bytes, cursor.size()));
}

result<std::string> read_cursor(std::string_view text) {
  std::vector<unsigned char> bytes(text.size() / 2);
  if (text.size() % 2 != 0 || !base::from_hex(text, bytes)) {
    return error(errc::invalid_argument, "cursor: that of a page before was expected");
  }
  return std::string(base::as_chars(bytes));
}

}  // namespace onceguard::admin
