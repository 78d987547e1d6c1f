#include "text/json_text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include <nlohmann/json.hpp>
#include <openssl/evp.h>

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

std::string base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  // OpenSSL decodes the padding as zero bytes.
  const auto padding = static_cast<std::size_t>(text.ends_with("==") ? 2 : text.ends_with('='));
  out.resize(static_cast<std::size_t>(size) - std::min(padding, static_cast<std::size_t>(size)));
  // Accept only the canonical encoding: OpenSSL ignores white space around the text, misplaced
  // padding and unused bits.
  if (base64(out) != text) return std::nullopt;
  return out;
}

}  // namespace onceguard
