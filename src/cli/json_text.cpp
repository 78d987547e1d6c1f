#include "cli/json_text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include <nlohmann/json.hpp>

namespace onceguard::cli {

using nlohmann::json;

namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The values of the 64 base64 digits by byte; 64 for other bytes.
constexpr auto digit_values = [] {
  std::array<unsigned char, 256> out{};
  out.fill(64);
  for (unsigned char i = 0; i < 64; ++i) out[static_cast<unsigned char>(digits[i])] = i;
  return out;
}();

}  // namespace

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
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto piece = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (k < piece.size() ? static_cast<unsigned char>(piece[k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= piece.size() ? digits[bits >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t bits = 0;
    std::size_t known = 0;
    for (; known < 4 && text[i + known] != '='; ++known) {
      const auto value = digit_values[static_cast<unsigned char>(text[i + known])];
      if (value == 64) return std::nullopt;
      bits |= std::uint32_t{value} << (18 - 6 * known);
    }
    for (std::size_t k = 0; k + 1 < known; ++k) {
      out += static_cast<char>(bits >> (16 - 8 * k) & 0xff);
    }
  }
  // Accept only the canonical encoding: misplaced padding or unused bits would not be written
  // again.
  if (base64(out) != text) return std::nullopt;
  return out;
}

std::string time_text(long long wall_ms) {
  if (wall_ms == 0) return {};
  const auto seconds = static_cast<std::time_t>(wall_ms / 1'000);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return {};
  std::array<char, 64> out{};
  const auto length = std::strftime(out.data(), out.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::string text(out.data(), length);
  std::snprintf(out.data(), out.size(), ".%03lldZ", wall_ms % 1'000);
  return text + out.data();
}

}  // namespace onceguard::cli
