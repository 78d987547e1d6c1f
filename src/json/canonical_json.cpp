// The RFC 8785 canonical form of a JSON text, or of parts of the text that JSON Pointers (RFC 6901)
// select.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <onceguard/fingerprint.hpp>

#include "json/scalars.hpp"
#include "json/tree.hpp"

namespace onceguard {
inline namespace v1 {

bool is_json_pointer(std::string_view text) noexcept {
  if (!text.empty() && text.front() != '/') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '~') continue;
    if (i + 1 == text.size() || (text[i + 1] != '0' && text[i + 1] != '1')) return false;
  }
  return true;
}

}  // namespace v1
}  // namespace onceguard

namespace onceguard::core {
namespace {

std::string unescaped(std::string_view segment) {
  std::string out;
  out.reserve(segment.size());
  for (std::size_t i = 0; i < segment.size(); ++i) {
    if (segment[i] == '~') {
      out += segment[++i] == '0' ? '~' : '/';
    } else {
      out += segment[i];
    }
  }
  return out;
}

std::optional<std::uint32_t> find_member(const json_tree& tree, json_span members,
                                         std::string_view name) {
  const auto begin = tree.children.begin() + members.first;
  const auto end = begin + members.size;
  const auto less = [&](std::uint32_t node, std::string_view wanted) {
    return utf16_less(tree.name(node), wanted);
  };
  const auto found = std::lower_bound(begin, end, name, less);
  if (found == end || tree.name(*found) != name) return std::nullopt;
  return *found;
}

/// An index is `0`, or digits that don't begin with `0`.
std::optional<std::uint32_t> find_element(const json_tree& tree, json_span elements,
                                          std::string_view segment) {
  std::uint32_t index = 0;
  const char* const end = segment.data() + segment.size();
  const auto [stop, code] = std::from_chars(segment.data(), end, index);
  if (code != std::errc{} || stop != end || index >= elements.size) return std::nullopt;
  if (segment.front() == '0' && segment.size() > 1) return std::nullopt;
  return tree.children[elements.first + index];
}

/// The value at a well-formed pointer; empty if there is no such value. An array index counts all
/// elements of the text, including elements marked as omitted.
std::optional<std::uint32_t> find_value(const json_tree& tree, std::string_view pointer) {
  std::uint32_t position = 0;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const auto segment = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(segment.size());
    const auto& node = tree.nodes[position];
    std::optional<std::uint32_t> child;
    if (node.kind == json_kind::object) {
      child = find_member(tree, node.span, unescaped(segment));
    } else if (node.kind == json_kind::array) {
      child = find_element(tree, node.span, segment);
    }
    if (!child) return std::nullopt;
    position = *child;
  }
  return position;
}

}  // namespace
}  // namespace onceguard::core

namespace onceguard {
inline namespace v1 {
namespace {

using core::json_kind;
using core::json_node;
using core::json_tree;

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
        core::append_json_number(out_, node.number);
        break;
      case json_kind::string:
        core::append_json_string(out_, tree_.text(node.span));
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
        core::append_json_string(out_, tree_.name(child));
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
    if (const auto position = core::find_value(tree, pointer))
      picked.emplace_back(pointer, *position);
  }
  std::sort(picked.begin(), picked.end(),
            [](const auto& a, const auto& b) { return core::utf16_less(a.first, b.first); });
  picked.erase(std::unique(picked.begin(), picked.end()), picked.end());
  out += '{';
  for (const auto& [pointer, position] : picked) {
    if (out.size() > 1) out += ',';
    core::append_json_string(out, pointer);
    out += ':';
    writer(tree, out).value(position);
  }
  out += '}';
}

void mark_omitted(json_tree& tree, const std::vector<std::string>& pointers) {
  for (const auto& pointer : pointers) {
    if (!is_json_pointer(pointer)) continue;
    if (const auto position = core::find_value(tree, pointer)) tree.nodes[*position].omitted = true;
  }
}

}  // namespace

result<std::string> canonical_json(std::string_view text, const fingerprint_rule& rule) {
  json_tree tree;
  core::json_cursor cursor{.text = text};
  if (!core::read_json(cursor, tree)) {
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
