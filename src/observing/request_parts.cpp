#include "observing/request_parts.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "base/hash.hpp"
#include "base/octets.hpp"
#include "http/authorization.hpp"
#include "http/caller_fields.hpp"
#include "http/request_target.hpp"
#include "json/tree.hpp"

namespace onceguard::observing {
namespace {

constexpr std::size_t fields_max = 24;
constexpr std::size_t members_max = 24;
constexpr std::size_t name_max = 64;
constexpr std::size_t json_bytes_max = 64 * 1024;
constexpr std::size_t json_values_max = 256;

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = base::ascii_lower(c);
  return out;
}

/// An id of one thing, and no name of a kind: "17", "3f2a…", "order_8c1", but not "v1".
bool is_id_segment(std::string_view segment) {
  constexpr std::size_t longest_name = 24;
  const bool version = segment.size() <= 3 && segment.starts_with('v');
  return segment.size() > longest_name || segment.find('%') != segment.npos ||
         (!version && std::any_of(segment.begin(), segment.end(), base::is_digit));
}

/// A pointer's step (RFC 6901).
void append_step(std::string& pointer, std::string_view name) {
  pointer += '/';
  for (const char c : name) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
}

class member_reader {
 public:
  member_reader(const json_tree& tree, std::vector<request_part>& out) : tree_(tree), out_(out) {}

  /// A list is one value: its elements have no names.
  void read(std::uint32_t node, const std::string& pointer, std::size_t depth) {
    constexpr std::size_t depth_max = 3;
    if (out_.size() >= members_max || pointer.size() > name_max) return;
    const auto& value = tree_.nodes[node];
    if (value.kind != json_kind::object || depth == depth_max) {
      if (depth != 0) out_.push_back({"json:" + pointer, base::checksum_of(text_of(node))});
      return;
    }
    for (std::uint32_t i = 0; i < value.span.size; ++i) {
      const auto child = tree_.children[value.span.first + i];
      auto below = pointer;
      append_step(below, tree_.name(child));
      read(child, below, depth + 1);
    }
  }

 private:
  /// The kinds and texts of a value and all below it, which numbers as written are part of.
  [[nodiscard]] std::string text_of(std::uint32_t node) const {
    std::string out;
    for (auto each = node; each < tree_.nodes[node].end; ++each) {
      const auto& value = tree_.nodes[each];
      out += static_cast<char>('0' + static_cast<int>(value.kind));
      if (each != node) out.append(tree_.text(value.name)).append("=");
      if (value.kind == json_kind::string || value.kind == json_kind::number) {
        out.append(tree_.text(value.span));
      }
      out += '\n';
    }
    return out;
  }

  const json_tree& tree_;
  std::vector<request_part>& out_;
};

void read_members(std::string_view body, std::vector<request_part>& out) {
  const auto begin = body.find_first_not_of(" \t\r\n");
  if (begin == body.npos || body[begin] != '{' || body.size() > json_bytes_max) return;
  json_tree tree;
  json_cursor cursor{body};
  if (!read_json(cursor, tree, {.numbers_as_written = true, .values_max = json_values_max})) return;
  member_reader(tree, out).read(0, {}, 0);
}

/// The names of cookies that sessions are known by.
void add_cookies(std::string_view cookies, std::vector<std::string>& out) {
  while (!cookies.empty()) {
    const auto end = std::min(cookies.find(';'), cookies.size());
    const auto one = base::trim(cookies.substr(0, end));
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    const auto name = one.substr(0, one.find('='));
    if (names_a_session(name) && base::is_token(name) && name.size() <= name_max) {
      out.push_back("Cookie: " + std::string(name));
    }
  }
}

}  // namespace

bool names_a_session(std::string_view cookie) {
  constexpr std::array<std::string_view, 4> marks{"sess", "sid", "auth", "token"};
  constexpr std::array<std::string_view, 3> others{"csrf", "xsrf", "nonce"};
  const auto plain = lower_case(cookie);
  const auto has = [&](std::string_view mark) { return plain.find(mark) != plain.npos; };
  return std::any_of(marks.begin(), marks.end(), has) &&
         std::none_of(others.begin(), others.end(), has);
}

std::string path_beginning(std::string_view target) {
  constexpr std::size_t depth_max = 4;
  const auto path = http::path_to_match(target);
  std::string out;
  std::size_t depth = 0;
  for (std::size_t begin = 1; begin < path.size() && depth < depth_max; ++depth) {
    const auto end = std::min(path.find('/', begin), path.size());
    const auto segment = std::string_view(path).substr(begin, end - begin);
    if (segment.empty() || is_id_segment(segment)) break;
    out.append("/").append(segment);
    begin = end + 1;
  }
  return out.empty() ? "/" : out;
}

request_parts parts_of(const http::request& request) {
  request_parts out;
  for (const auto& field : request.fields) {
    const bool counts =
        http::tells_callers_apart(field.name) || base::same_name(field.name, "content-type");
    if (!counts || out.fields.size() >= fields_max || field.name.size() > name_max) continue;
    out.fields.push_back({"header:" + lower_case(field.name), base::checksum_of(field.value)});
  }
  out.body = base::checksum_of(request.body);
  read_members(request.body, out.members);
  return out;
}

std::vector<std::string> callers_of(const http::request& request) {
  std::vector<std::string> out;
  for (const auto& field : request.fields) {
    if (field.value.empty() || field.name.size() > name_max) continue;
    if (base::iequals(field.name, "authorization")) {
      const auto scheme = http::scheme_of(field.value);
      const bool known = !scheme.empty() && scheme.size() <= name_max;
      out.push_back("Authorization: " + std::string(known ? scheme : "(no scheme)"));
    } else if (base::iequals(field.name, "cookie")) {
      add_cookies(field.value, out);
    } else if (http::names_a_caller(field.name) && !base::iequals(field.name, "host")) {
      out.emplace_back(field.name);
    }
  }
  if (!request.client_certificate.empty()) out.emplace_back("a client certificate");
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace onceguard::observing
