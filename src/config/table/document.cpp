#include "config/table/document.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

// Only this file includes toml++, which is large and therefore compiled once.
//
// Some input breaks conditions that toml++ 3.3 asserts, or assumes in release builds ("[[[" and
// "[=" do). So the assertions are always enabled here, and throw.
namespace onceguard::config {
namespace {
struct parser_fault : std::logic_error {
  using std::logic_error::logic_error;
};
[[noreturn]] void break_off(const char* condition) { throw parser_fault(condition); }
}  // namespace
}  // namespace onceguard::config
#undef NDEBUG
#define TOML_ASSERT(condition) ((condition) ? void() : ::onceguard::config::break_off(#condition))
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_UNRELEASED_FEATURES 0
#include <toml++/toml.h>

#include "base/file_text.hpp"
#include "base/utf8.hpp"

namespace onceguard::config {
namespace {

// UTF-8, and a workaround for characters that the TOML parser can't handle.
//
// toml++ 3.3 has undefined behaviour for characters from U+00A1 to U+FEFF where it expects white
// space, and takes some of them for white space or line ends. Characters beyond U+FEFF are safe. So
// those characters are moved into the private-use plane U+F0000 before parsing, and moved back in
// the parsed texts. Lines and columns stay the same.

constexpr char32_t lift = 0xf0000;
constexpr char32_t first = 0x80;
constexpr char32_t last = 0xfeff;

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

/// The position of the first byte that is malformed UTF-8 or begins a character of the plane
/// U+F0000 (which real documents don't use).
std::optional<std::size_t> find_unreadable(std::string_view text) {
  for (std::size_t position = 0; position < text.size();) {
    const auto c = base::first_character(text.substr(position));
    if (c.size == 0 || is_lifted(c.value)) return position;
    position += c.size;
  }
  return std::nullopt;
}

/// For text that find_unreadable() accepts. Keeps a byte order mark at the beginning.
std::string lifted(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t position = 0; position < text.size();) {
    const auto c = base::first_character(text.substr(position));
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
    const auto c = base::first_character(text.substr(position));
    append(out, is_lifted(c.value) ? c.value - lift : c.value);
    position += c.size;
  }
  return out;
}

// The document

node converted(const toml::node& source);

/// The parser's messages may quote the document, so they are made printable.
std::string printable(std::string_view text) {
  auto out = lowered(text);
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(out[i]); };
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool c1 = byte(i) == 0xc2 && i + 1 < out.size() && byte(i + 1) < 0xa0;
    if (c1) out[i + 1] = '?';
    if (c1 || byte(i) < 0x20 || byte(i) == 0x7f) out[i] = '?';
  }
  return out;
}

void convert_array(const toml::array& source, node& out) {
  out.kind = node::type::array;
  out.items.reserve(source.size());
  for (const auto& item : source) out.items.push_back(converted(item));
}

void convert_table(const toml::table& origin, node& out) {
  out.kind = node::type::table;
  out.members.reserve(origin.size());
  for (const auto& [key, value] : origin) {
    const auto begin = key.source().begin;
    out.members.push_back({lowered(key.str()), begin.line, begin.column, converted(value)});
  }
  std::sort(out.members.begin(), out.members.end(), [](const member& a, const member& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
}

node converted(const toml::node& origin) {
  node out;
  out.line = origin.source().begin.line;
  out.column = origin.source().begin.column;
  if (const auto* table = origin.as_table()) {
    convert_table(*table, out);
  } else if (const auto* array = origin.as_array()) {
    convert_array(*array, out);
  } else if (const auto* text = origin.as_string()) {
    out.kind = node::type::text;
    out.text = lowered(text->get());
  } else if (const auto* integer = origin.as_integer()) {
    out.kind = node::type::integer;
    out.integer = integer->get();
  } else if (const auto* boolean = origin.as_boolean()) {
    out.kind = node::type::boolean;
    out.boolean = boolean->get();
  } else if (origin.is_floating_point()) {
    out.kind = node::type::real;
  } else {
    out.kind = node::type::date_time;
  }
  return out;
}

/// The line and column of a byte. Columns count characters, as the parser's columns do.
origin position_of(std::string_view text, std::size_t byte, const std::string& file) {
  const auto before = text.substr(0, byte);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto begin = before.rfind('\n') + 1;  // npos + 1 is 0
  const auto column =
      1 + std::count_if(before.begin() + static_cast<std::ptrdiff_t>(begin), before.end(),
                        [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
  return {layer::file, file, static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(column)};
}

/// Whether the text breaks an assertion of the parser.
bool breaks_parser(std::string_view text) {
  try {
    const auto parsed = toml::parse(text);
    return false;
  } catch (const toml::parse_error&) {
    return false;
  } catch (const parser_fault&) {
    return true;
  }
}

/// The position of the fault: the last byte of the shortest beginning that breaks an assertion.
std::size_t find_break(std::string_view text) {
  std::size_t fine = 0;
  std::size_t broken = text.size();
  while (fine + 1 < broken) {
    const auto middle = fine + (broken - fine) / 2;
    (breaks_parser(text.substr(0, middle)) ? broken : fine) = middle;
  }
  return fine;
}

}  // namespace

std::optional<node> read_document(std::string_view text, const std::string& file, remarks& out) {
  const auto refuse = [&](const origin& origin, const std::string& detail) {
    out.push_back({remark::grade::fault, origin, detail});
    return std::nullopt;
  };
  if (text.size() > document_size_max) return refuse({layer::file, file}, "larger than 1MiB");
  if (const auto wrong = find_unreadable(text)) {
    return refuse(position_of(text, *wrong, file), "not TOML: the text is not UTF-8 here");
  }
  const auto safe = lifted(text);
  try {
    return converted(toml::parse(safe));
  } catch (const toml::parse_error& problem) {
    const auto begin = problem.source().begin;
    return refuse({layer::file, file, begin.line, begin.column},
                  "not TOML: " + printable(problem.description()));
  } catch (const parser_fault&) {
    return refuse(position_of(safe, find_break(safe), file),
                  "not TOML: something else was expected here");
  }
}

result<std::string> read_document_file(const std::string& path) {
  return base::read_file(path, document_size_max, base::file_kind::any);
}

}  // namespace onceguard::config
