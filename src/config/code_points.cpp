#include "config/code_points.hpp"

namespace onceguard::config {
namespace {

constexpr char32_t lift = 0xf0000;
constexpr char32_t first = 0x80;
constexpr char32_t last = 0xfeff;

struct code_point {
  char32_t value = 0;
  std::size_t size = 0;  ///< in bytes; 0: malformed
};

/// The character at the beginning of a text that is not empty (RFC 3629).
code_point decode(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {};
  char32_t value = lead & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return {};
    value = value << 6 | (byte & 0x3fU);
  }
  const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  const bool surrogate = value >= 0xd800 && value < 0xe000;
  if (overlong || surrogate || value > 0x10ffff) return {};
  return {value, size};
}

void append(std::string& out, char32_t c) {
  const auto rest = [&](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += {static_cast<char>(0xc0 | c >> 6), rest(0)};
  } else if (c < 0x10000) {
    out += {static_cast<char>(0xe0 | c >> 12), rest(6), rest(0)};
  } else {
    out += {static_cast<char>(0xf0 | c >> 18), rest(12), rest(6), rest(0)};
  }
}

bool is_lifted(char32_t c) { return c >= first + lift && c <= last + lift; }

}  // namespace

std::optional<std::size_t> find_unreadable(std::string_view text) {
  for (std::size_t position = 0; position < text.size();) {
    const auto c = decode(text.substr(position));
    if (c.size == 0 || is_lifted(c.value)) return position;
    position += c.size;
  }
  return std::nullopt;
}

std::string lifted(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t position = 0; position < text.size();) {
    const auto c = decode(text.substr(position));
    const bool mark = position == 0 && c.value == last;
    append(out, c.value >= first && c.value <= last && !mark ? c.value + lift : c.value);
    position += c.size;
  }
  return out;
}

std::string lowered(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t position = 0; position < text.size();) {
    const auto c = decode(text.substr(position));
    append(out, is_lifted(c.value) ? c.value - lift : c.value);
    position += c.size;
  }
  return out;
}

}  // namespace onceguard::config
