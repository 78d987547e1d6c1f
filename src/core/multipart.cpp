#include "core/multipart.hpp"

#include <algorithm>

#include "base/ascii.hpp"

namespace onceguard::core {
namespace {

constexpr std::string_view family = "multipart/";
constexpr std::size_t boundary_max = 70;  // RFC 2046 section 5.1.1

/// The next parameter of a field value, which begins with ";"; empty: it is malformed.
struct parameter {
  std::string_view name;
  std::string value;
  std::string_view written;
};

std::optional<parameter> take_parameter(std::string_view& rest) {
  parameter out;
  const auto begin = rest;
  rest = base::trim(rest.substr(1));
  const auto equals = rest.find('=');
  if (equals == rest.npos) return std::nullopt;
  out.name = base::trim(rest.substr(0, equals));
  rest.remove_prefix(equals + 1);
  if (rest.starts_with('"')) {
    std::size_t i = 1;
    for (; i < rest.size() && rest[i] != '"'; ++i) {
      if (rest[i] == '\\' && ++i == rest.size()) return std::nullopt;
      out.value += rest[i];
    }
    if (i >= rest.size()) return std::nullopt;
    rest.remove_prefix(i + 1);
  } else {
    const auto end = std::min(rest.find(';'), rest.size());
    out.value = base::trim(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  rest = base::trim(rest);
  if (!rest.empty() && rest.front() != ';') return std::nullopt;
  out.written = begin.substr(0, begin.size() - rest.size());
  return out;
}

bool take_boundary(std::string_view content_type, multipart& out, std::string& boundary) {
  const auto semicolon = std::min(content_type.find(';'), content_type.size());
  const auto type = base::trim(content_type.substr(0, semicolon));
  if (!base::iequals(type.substr(0, family.size()), family)) return false;
  for (const char c : type) out.type += base::ascii_lower(c);
  auto rest = content_type.substr(semicolon);
  while (!rest.empty()) {
    auto next = take_parameter(rest);
    if (!next) return false;
    if (!base::iequals(next->name, "boundary")) {
      out.parameters += next->written;
      continue;
    }
    // Readers differ in which of two boundaries they take.
    if (!boundary.empty()) return false;
    boundary = std::move(next->value);
  }
  return !boundary.empty() && boundary.size() <= boundary_max;
}

/// Takes what stands behind a delimiter up to the end of its line. A line that goes on is no
/// delimiter, and servers differ in what they make of it: false.
bool take_line_end(std::string_view& rest) {
  const auto end = rest.find_first_not_of(" \t");
  if (end == rest.npos) {
    rest = {};
    return true;
  }
  rest.remove_prefix(end);
  if (!rest.starts_with("\r\n")) return false;
  rest.remove_prefix(2);
  return true;
}

}  // namespace

std::optional<multipart> cut_multipart(std::string_view content_type, std::string_view body) {
  multipart out;
  std::string boundary;
  if (!take_boundary(content_type, out, boundary)) return std::nullopt;
  const auto dashes = "--" + boundary;
  const auto delimiter = "\r\n" + dashes;
  auto rest = body;
  if (rest.starts_with(dashes)) {
    out.pieces.emplace_back();
    rest.remove_prefix(dashes.size());
  } else {
    const auto first = rest.find(delimiter);
    if (first == rest.npos) return std::nullopt;
    out.pieces.push_back(rest.substr(0, first));
    rest.remove_prefix(first + delimiter.size());
  }
  while (!rest.starts_with("--")) {
    if (!take_line_end(rest)) return std::nullopt;
    const auto end = rest.find(delimiter);
    if (end == rest.npos) return std::nullopt;
    out.pieces.push_back(rest.substr(0, end));
    rest.remove_prefix(end + delimiter.size());
  }
  rest.remove_prefix(2);
  if (!take_line_end(rest)) return std::nullopt;
  out.pieces.push_back(rest);
  return out;
}

}  // namespace onceguard::core
