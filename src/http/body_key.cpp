#include "http/body_key.hpp"

#include <algorithm>
#include <cmath>

#include <onceguard/key.hpp>

#include "base/ascii.hpp"
#include "json/pointer.hpp"
#include "json/scalars.hpp"
#include "json/tree.hpp"

namespace onceguard::http {
namespace {

bool is_json_type(std::string_view content_type) noexcept {
  const auto type = base::trim(content_type.substr(0, content_type.find(';')));
  return base::iequals(type, "application/json") ||
         (type.size() > 5 && base::iequals(type.substr(type.size() - 5), "+json"));
}

bool begins_as_json(std::string_view body) noexcept {
  const auto begin = body.find_first_not_of(" \t\r\n");
  return begin != body.npos && (body[begin] == '{' || body[begin] == '[');
}

found_key unusable(const key_source& source, std::string_view text) {
  found_key out;
  out.present = true;
  out.fault = "The key, " + description_of(source) + ", " + std::string(text);
  return out;
}

found_key key_of(const json_tree& tree, const key_source& source, const route_policy& policy) {
  const auto position = find_value(tree, source.pointer);
  if (!position) return {};
  const auto& node = tree.nodes[*position];
  found_key out;
  switch (node.kind) {
    case json_kind::null:
      return out;
    case json_kind::string:
      out.key = tree.text(node.span);
      break;
    case json_kind::number:
      // RFC 7493 section 2.2: beyond 2^53 two integers may be read as the same number, and so as
      // one key.
      if (node.number != std::trunc(node.number) || std::abs(node.number) > 9007199254740992.0) {
        return unusable(source, "must be a text or a whole number.");
      }
      append_json_number(out.key, node.number);
      break;
    case json_kind::no:
    case json_kind::yes:
    case json_kind::array:
    case json_kind::object:
      return unusable(source, "must be a text or a whole number.");
  }
  if (out.key.empty()) return unusable(source, "is empty.");
  if (out.key.size() > key_size_max) {
    return unusable(source, "is longer than " + std::to_string(key_size_max) + " bytes.");
  }
  const bool plain =
      std::all_of(out.key.begin(), out.key.end(), [](char c) { return c >= ' ' && c < 0x7f; });
  if (!plain) return unusable(source, "must be printable ASCII.");
  if (policy.key_format == key_format::uuid && !is_uuid(out.key)) {
    return unusable(source, "must be a UUID.");
  }
  out.present = true;
  return out;
}

}  // namespace

std::string description_of(const key_source& source) {
  switch (source.location) {
    case key_location::header:
      return "the header " + source.header;
    case key_location::path:
      return "segment " + std::to_string(source.segment) + " of the path";
    case key_location::json:
      return (source.pointer.empty() ? "the whole" : source.pointer + " of the") + " JSON body";
    case key_location::content:
      break;
  }
  return "the content";
}

void join(found_key& first, found_key next, const key_source& source) {
  if (!next.present || !first.fault.empty()) return;
  if (first.present && next.fault.empty() && first.key != next.key) {
    first.fault =
        "The request has two keys that differ: another one is " + description_of(source) + ".";
    return;
  }
  first = std::move(next);
}

bool takes_key_from_body(const route_policy& policy) noexcept {
  return std::any_of(policy.key.begin(), policy.key.end(), [](const key_source& source) {
    return source.location == key_location::json;
  });
}

void join_body_keys(found_key& found, const route_policy& policy, std::string_view content_type,
                    std::string_view body) {
  if (body.empty()) return;
  json_tree tree;
  json_cursor cursor{.text = body};
  const bool read = read_json(cursor, tree);
  if (!read && !is_json_type(content_type) && !begins_as_json(body)) return;
  for (const auto& source : policy.key) {
    if (source.location != key_location::json) continue;
    join(found,
         read ? key_of(tree, source, policy)
              : unusable(source, "can't be read: the body is no JSON with one meaning (byte " +
                                     std::to_string(cursor.position + 1) + ": " + cursor.fault +
                                     ")."),
         source);
  }
}

}  // namespace onceguard::http
