#include "text/json_text.hpp"

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

bool is_utf8(std::string_view text) {
  try {
    return !json(text).dump().empty();
  } catch (const json::type_error&) {
    return false;
  }
}

}  // namespace onceguard
