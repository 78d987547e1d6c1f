#include "base/url.hpp"

#include "base/hash.hpp"

namespace onceguard::base {

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text.front() != '%') {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    unsigned char byte[1];
    if (text.size() < 3 || !from_hex(text.substr(1, 2), byte)) return std::nullopt;
    out += static_cast<char>(byte[0]);
    text.remove_prefix(3);
  }
  return out;
}

}  // namespace onceguard::base
