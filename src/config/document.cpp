#include "config/document.hpp"

#include <algorithm>

// The only place that knows toml++: it is large, and compiled here once.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_UNRELEASED_FEATURES 0
#include <toml++/toml.h>

namespace onceguard::config {
namespace {

node converted(const toml::node& from);

/// What the parser says may quote the document.
std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out;
}

void convert_array(const toml::array& from, node& out) {
  out.what = node::type::array;
  out.items.reserve(from.size());
  for (const auto& item : from) out.items.push_back(converted(item));
}

void convert_table(const toml::table& from, node& out) {
  out.what = node::type::table;
  out.members.reserve(from.size());
  for (const auto& [key, value] : from) {
    const auto begin = key.source().begin;
    out.members.push_back({std::string(key.str()), begin.line, begin.column, converted(value)});
  }
  std::sort(out.members.begin(), out.members.end(), [](const member& a, const member& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
}

node converted(const toml::node& from) {
  node out;
  out.line = from.source().begin.line;
  out.column = from.source().begin.column;
  if (const auto* table = from.as_table()) {
    convert_table(*table, out);
  } else if (const auto* array = from.as_array()) {
    convert_array(*array, out);
  } else if (const auto* text = from.as_string()) {
    out.what = node::type::text;
    out.text = text->get();
  } else if (const auto* integer = from.as_integer()) {
    out.what = node::type::integer;
    out.integer = integer->get();
  } else if (const auto* boolean = from.as_boolean()) {
    out.what = node::type::boolean;
    out.boolean = boolean->get();
  } else if (from.is_floating_point()) {
    out.what = node::type::real;
  } else {
    out.what = node::type::date_time;
  }
  return out;
}

}  // namespace

std::optional<node> read_document(std::string_view text, const std::string& file, remarks& out) {
  if (text.size() > document_size_max) {
    out.push_back({remark::grade::fault, {layer::file, file}, "larger than 1MiB"});
    return std::nullopt;
  }
  const auto parsed = toml::parse(text);
  if (!parsed) {
    const auto& problem = parsed.error();
    const auto begin = problem.source().begin;
    out.push_back({remark::grade::fault,
                   {layer::file, file, begin.line, begin.column},
                   "not TOML: " + printable(problem.description())});
    return std::nullopt;
  }
  return converted(parsed.table());
}

}  // namespace onceguard::config
