#include "mcp/raw_json.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "base/utf8.hpp"

namespace onceguard::mcp {
namespace {

constexpr std::string_view space = " \t\r\n";

std::size_t skip_space(std::string_view text, std::size_t position) {
  return std::min(text.find_first_not_of(space, position), text.size());
}

/// Behind the string whose quotation mark stands there.
std::size_t skip_string(std::string_view text, std::size_t position) {
  for (++position; position < text.size() && text[position] != '"'; ++position) {
    if (text[position] == '\\') ++position;
  }
  return std::min(position + 1, text.size());
}

/// Behind the value that begins there.
std::size_t skip_value(std::string_view text, std::size_t position) {
  std::size_t depth = 0;
  while (position < text.size()) {
    const char c = text[position];
    if (c == '"') {
      position = skip_string(text, position);
    } else if (c == '{' || c == '[') {
      ++depth;
      ++position;
      continue;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return position;
      --depth;
      ++position;
    } else if (depth == 0) {
      return std::min(text.find_first_of(",]} \t\r\n", position), text.size());
    } else {
      ++position;
      continue;
    }
    if (depth == 0) return position;
  }
  return position;
}

/// The four hexadecimal digits at that place; above 0xFFFF: there are none.
std::uint32_t code_unit(std::string_view text, std::size_t position) {
  std::uint32_t out = 0;
  const auto digits = text.substr(std::min(position, text.size()), 4);
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), out, 16);
  return digits.size() == 4 && read.ptr == digits.data() + 4 ? out : 0x10000;
}

bool is_surrogate(std::uint32_t unit) noexcept { return unit >= 0xD800 && unit <= 0xDFFF; }

/// The text with a space for each escaped surrogate, whether it has its other half or not; empty:
/// there is none. The grammar of JSON allows them, and JSON.stringify writes them; nlohmann/json
/// refuses the lone ones.
std::string without_surrogates(std::string_view text) {
  std::string out;
  for (auto i = text.find('\\'); i < text.size(); i = text.find('\\', i + 2)) {
    if (i + 1 == text.size() || text[i + 1] != 'u' || !is_surrogate(code_unit(text, i + 2))) {
      continue;
    }
    if (out.empty()) out = text;
    out.replace(i, 6, "\\u0020");
  }
  return out;
}

/// Decodes the escape whose `u` stands at `i`, and its other half; `i` is then its last digit. A
/// lone surrogate becomes three bytes that are no UTF-8. False: it is no escape.
bool add_code_units(std::string_view text, std::size_t& i, std::string& out) {
  auto code = code_unit(text, i + 1);
  if (code > 0xFFFF) return false;
  i += 4;
  if (code >= 0xD800 && code <= 0xDBFF && text.substr(i + 1, 2) == "\\u") {
    const auto low = code_unit(text, i + 3);
    if (low >= 0xDC00 && low <= 0xDFFF) {
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      i += 6;
    }
  }
  base::append_character(out, code);
  return true;
}

std::optional<std::vector<raw_value>> parts_of(std::string_view text, char open, char close) {
  auto position = skip_space(text, 0);
  if (position == text.size() || text[position] != open) return std::nullopt;
  std::vector<raw_value> out;
  position = skip_space(text, position + 1);
  while (position < text.size() && text[position] != close) {
    raw_value part;
    part.begin = position;
    if (open == '{') {
      const auto end = skip_string(text, position);
      auto name = string_of(text.substr(position, end - position));
      if (!name) return std::nullopt;
      part.name = std::move(*name);
      position = skip_space(text, end);
      position = skip_space(text, position + 1);  // the colon
    }
    part.end = skip_value(text, position);
    if (part.end <= position) return std::nullopt;
    part.text = text.substr(position, part.end - position);
    position = skip_space(text, part.end);
    out.push_back(std::move(part));
    if (position < text.size() && text[position] == ',') position = skip_space(text, position + 1);
  }
  if (position >= text.size()) return std::nullopt;  // it was cut off
  return out;
}

}  // namespace

bool is_json(std::string_view text) {
  // RFC 8259 leaves it to readers whether they ignore a byte order mark: nlohmann/json does.
  // A NUL is the end of the text there.
  if (text.starts_with("\xEF\xBB\xBF") || text.find('\0') != text.npos) return false;
  const auto whole = without_surrogates(text);
  return nlohmann::json::accept(whole.empty() ? text : std::string_view(whole));
}

std::optional<std::vector<raw_value>> members_of(std::string_view text) {
  return parts_of(text, '{', '}');
}

std::optional<std::vector<raw_value>> elements_of(std::string_view text) {
  return parts_of(text, '[', ']');
}

const raw_value* find(const std::vector<raw_value>& members, std::string_view name) {
  const auto found = std::ranges::find(members, name, &raw_value::name);
  return found == members.end() ? nullptr : &*found;
}

bool has_repeats(const std::vector<raw_value>& members) {
  std::vector<std::string_view> names;
  for (const auto& member : members) names.push_back(member.name);
  std::ranges::sort(names);
  return std::ranges::adjacent_find(names) != names.end();
}

const raw_value* find_last(const std::vector<raw_value>& members, std::string_view name) {
  const auto found = std::find_if(members.rbegin(), members.rend(),
                                  [&](const raw_value& member) { return member.name == name; });
  return found == members.rend() ? nullptr : &*found;
}

std::optional<std::string> string_of(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::nullopt;
  if (skip_string(text, 0) != text.size()) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
    } else if (++i == text.size()) {
      return std::nullopt;  // the quotation mark at the end is escaped
    } else if (text[i] == 'u') {
      if (!add_code_units(text, i, out)) return std::nullopt;
    } else {
      constexpr std::string_view letters = "bfnrt";
      const auto letter = letters.find(text[i]);
      out += letter == letters.npos ? text[i] : "\b\f\n\r\t"[letter];
    }
  }
  return out;
}

bool is_true(const raw_value* value) { return value != nullptr && value->text == "true"; }

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string without(std::string_view object, const raw_value& member) {
  auto begin = member.begin;
  auto end = skip_space(object, member.end);
  if (end < object.size() && object[end] == ',') {
    end = skip_space(object, end + 1);
  } else if (const auto comma = object.find_last_not_of(space, begin - 1);
             comma != object.npos && object[comma] == ',') {
    begin = comma;  // the last member takes the comma in front of it along
    end = member.end;
  }
  return std::string(object.substr(0, begin)) + std::string(object.substr(end));
}

std::string with_first(std::string_view container, std::string_view added) {
  const auto open = skip_space(container, 0) + 1;
  const auto next = skip_space(container, open);
  const bool empty = container[next] == '}' || container[next] == ']';
  std::string out(container.substr(0, open));
  out += added;
  if (!empty) out += ',';
  out += container.substr(open);
  return out;
}

std::string with_value(std::string_view text, const raw_value& old, std::string_view value) {
  const auto begin = old.end - old.text.size();
  std::string out(text.substr(0, begin));
  out += value;
  out += text.substr(old.end);
  return out;
}

}  // namespace onceguard::mcp
