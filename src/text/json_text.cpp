#include "text/json_text.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace onceguard {

using nlohmann::json;

std::string json_string(std::string_view text, bool ascii) {
  auto out = json(text).dump(-1, ' ', ascii, json::error_handler_t::replace);
  // JSON allows DEL unescaped, but a terminal might act on it.
  for (auto position = out.find('\x7f'); position != out.npos;
       position = out.find('\x7f', position)) {
    out.replace(position, 1, "\\u007f");
  }
  return out;
}

std::string plain_text(std::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '=';
  });
  return plain ? std::string(text) : json_string(text, true);
}

std::string terminal_text(std::string_view utf8) {
  std::string out;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto byte = static_cast<unsigned char>(utf8[i]);
    const auto next = i + 1 < utf8.size() ? static_cast<unsigned char>(utf8[i + 1]) : 0U;
    if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F
      out += '?';
      ++i;
    } else if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f) {
      out += '?';
    } else {
      out += utf8[i];
    }
  }
  return out;
}

bool is_utf8(std::string_view text) {
  try {
    return !json(text).dump().empty();
  } catch (const json::type_error&) {
    return false;
  }
}

}  // namespace onceguard
