#include "config/monitoring_values.hpp"

#include <algorithm>

#include "base/octets.hpp"
#include "base/url.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {
namespace {

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || base::is_digit(c) || c == '_';
}

/// Takes `NAME OPERATOR "VALUE"` off the beginning of the text. False: it begins with another.
bool take_matcher(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && is_of_name(text[length])) ++length;
  if (length == 0 || base::is_digit(text.front())) return false;
  text.remove_prefix(length);
  constexpr std::string_view operators[]{"=~", "!~", "!=", "="};
  const auto* const found = std::ranges::find_if(
      operators, [&text](std::string_view each) { return text.starts_with(each); });
  if (found == std::end(operators)) return false;
  text.remove_prefix(found->size());
  if (!text.starts_with('"')) return false;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

}  // namespace

std::string prometheus_url_complaint(std::string_view value) {
  const auto read = parse_web_url(value);
  if (!read) return read.error().detail;
  if (read->path.find('?') == std::string::npos) return {};
  return "the paths of its API follow, so it can't have a query; got " + quoted(value);
}

std::string label_matchers_complaint(std::string_view value) {
  auto rest = value;
  const bool printable = std::ranges::all_of(value, [](char c) { return c >= 0x20 && c < 0x7f; });
  for (bool more = printable; more;) {
    if (!take_matcher(rest)) break;
    if (rest.empty()) return {};
    more = rest.starts_with(',');
    if (more) rest.remove_prefix(1);
  }
  return "expected matchers of labels such as job=\"onceguard\",env=~\"live|test\", got " +
         quoted(value);
}

std::string trace_url_complaint(std::string_view value) {
  constexpr std::string_view wanted = "{trace_id}";
  const auto found = value.find(wanted);
  const bool plain = std::ranges::all_of(
      value, [](char c) { return c > 0x20 && c < 0x7f && c != '"' && c != '\\'; });
  const auto parts = base::split_url(value);
  const bool web = parts.scheme == "http" || parts.scheme == "https";
  const auto host = parts.authority.value_or("");
  const bool known = !host.empty() && host.find_first_of("@{}") == host.npos;
  const bool once = found != value.npos && value.find(wanted, found + 1) == value.npos;
  if (plain && web && known && once) return {};
  return "expected \"https://HOST/…\" with {trace_id} once behind the host, got " + quoted(value);
}

}  // namespace onceguard::config
