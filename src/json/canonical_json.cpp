// The RFC 8785 canonical form of a JSON text, or of parts of the text that JSON Pointers (RFC 6901)
// select.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/fingerprint.hpp>

#include "json/pointer.hpp"
#include "json/scalars.hpp"
#include "json/tree.hpp"

namespace onceguard {
inline namespace v1 {
namespace {

/// Writes all values that are not marked as omitted. Recursive: the reader has limited the nesting.
class writer {
 public:
  writer(const json_tree& tree, std::string& out) noexcept : tree_(tree), out_(out) {}

  void value(std::uint32_t position) {
    const auto& node = tree_.nodes[position];
    switch (node.kind) {
      case json_kind::null:
        out_ += "null";
        break;
      case json_kind::no:
        out_ += "false";
        break;
      case json_kind::yes:
        out_ += "true";
        break;
      case json_kind::number:
        append_json_number(out_, node.number);
        break;
      case json_kind::string:
        append_json_string(out_, tree_.text(node.span));
        break;
      case json_kind::array:
      case json_kind::object:
        container(node);
        break;
    }
  }

 private:
  void container(const json_node& node) {
    const bool object = node.kind == json_kind::object;
    out_ += object ? '{' : '[';
    bool first = true;
    for (std::uint32_t i = 0; i < node.span.size; ++i) {
      const std::uint32_t child = tree_.children[node.span.first + i];
      if (tree_.nodes[child].omitted) continue;
      if (!std::exchange(first, false)) out_ += ',';
      if (object) {
        append_json_string(out_, tree_.name(child));
        out_ += ':';
      }
      value(child);
    }
    out_ += object ? '}' : ']';
  }

  const json_tree& tree_;
  std::string& out_;
};

void write_picked(const json_tree& tree, const std::vector<std::string>& pointers,
                  std::string& out) {
  std::vector<std::pair<std::string_view, std::uint32_t>> picked;
  for (const auto& pointer : pointers) {
    if (!is_json_pointer(pointer)) continue;
    if (const auto position = find_value(tree, pointer)) picked.emplace_back(pointer, *position);
  }
  std::sort(picked.begin(), picked.end(),
            [](const auto& a, const auto& b) { return utf16_less(a.first, b.first); });
  picked.erase(std::unique(picked.begin(), picked.end()), picked.end());
  out += '{';
  for (const auto& [pointer, position] : picked) {
    if (out.size() > 1) out += ',';
    append_json_string(out, pointer);
    out += ':';
    writer(tree, out).value(position);
  }
  out += '}';
}

void mark_omitted(json_tree& tree, const std::vector<std::string>& pointers) {
  for (const auto& pointer : pointers) {
    if (!is_json_pointer(pointer)) continue;
    if (const auto position = find_value(tree, pointer)) tree.nodes[*position].omitted = true;
  }
}

}  // namespace

result<std::string> canonical_json(std::string_view text, const fingerprint_rule& rule) {
  json_tree tree;
  json_cursor cursor{.text = text};
  if (!read_json(cursor, tree)) {
    return error{errc::invalid_argument,
                 "byte " + std::to_string(cursor.position + 1) + ": " + cursor.fault};
  }
  std::string out;
  out.reserve(text.size());
  if (rule.selection == json_selection::pick && !rule.pointers.empty()) {
    write_picked(tree, rule.pointers, out);
    return out;
  }
  if (rule.selection == json_selection::omit) mark_omitted(tree, rule.pointers);
  if (!tree.nodes.front().omitted) writer(tree, out).value(0);
  return out;
}

}  // namespace v1
}  // namespace onceguard
