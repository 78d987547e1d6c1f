#include "base/url.hpp"

#include "base/hex.hpp"
#include "base/octets.hpp"

namespace onceguard::base {

std::optional<unsigned char> escape_in(std::string_view text) noexcept {
  unsigned char octet[1];
  if (text.size() < 3 || text.front() != '%' || !from_hex(text.substr(1, 2), octet)) {
    return std::nullopt;
  }
  return octet[0];
}

void append_escape(std::string& out, unsigned char octet) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  out += {'%', digits[octet >> 4], digits[octet & 15]};
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto octet = static_cast<unsigned char>(c);
    if (unreserved_octets[octet]) {
      out += c;
    } else {
      append_escape(out, octet);
    }
  }
  return out;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text.front() != '%') {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    const auto octet = escape_in(text);
    if (!octet) return std::nullopt;
    out += static_cast<char>(*octet);
    text.remove_prefix(3);
  }
  return out;
}

}  // namespace onceguard::base
