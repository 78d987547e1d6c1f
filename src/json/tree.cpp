#include "json/tree.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "json/scalars.hpp"

namespace onceguard {
namespace {

/// An upper bound for the number of values: each value is the first or follows one of these bytes.
std::size_t values_at_most(std::string_view text) noexcept {
  std::size_t count = 1;
  for (const char c : text) count += c == ',' || c == '[' || c == '{';
  return count;
}

std::uint32_t u32(std::size_t n) noexcept { return static_cast<std::uint32_t>(n); }

class reader {
 public:
  reader(json_cursor& cursor, json_tree& tree, json_rules rules) noexcept
      : cursor_(cursor), tree_(tree), rules_(rules) {}

  bool run() {
    json_span name{};
    do {
      if (!begin_value(name)) return false;
    } while (more(name));
    if (cursor_.fault != nullptr) return false;
    cursor_.skip_space();
    return cursor_.at_end() || cursor_.fail("something follows the value");
  }

 private:
  [[nodiscard]] bool in_object() const noexcept {
    return tree_.nodes[open_[depth_ - 1]].kind == json_kind::object;
  }

  /// Reads a scalar, or the beginning of an array or object.
  bool begin_value(json_span name) {
    cursor_.skip_space();
    if (tree_.nodes.size() >= rules_.values_max) return cursor_.fail("too many values");
    json_node node{.span = {}, .name = name, .end = 0, .kind = json_kind::null, .omitted = false};
    switch (cursor_.peek()) {
      case '{':
        return begin_container(node, json_kind::object);
      case '[':
        return begin_container(node, json_kind::array);
      case '"':
        node.kind = json_kind::string;
        if (!string(node.span)) return false;
        break;
      case 'n':
        if (!literal("null")) return false;
        break;
      case 't':
        node.kind = json_kind::yes;
        if (!literal("true")) return false;
        break;
      case 'f':
        node.kind = json_kind::no;
        if (!literal("false")) return false;
        break;
      default:
        if (!number(node)) return false;
    }
    node.end = u32(tree_.nodes.size() + 1);
    tree_.nodes.push_back(node);
    return true;
  }

  bool begin_container(json_node node, json_kind kind) {
    if (depth_ == open_.size()) return cursor_.fail("nesting over 512");
    node.kind = kind;
    open_[depth_++] = u32(tree_.nodes.size());
    tree_.nodes.push_back(node);
    ++cursor_.position;
    fresh_ = true;
    return true;
  }

  /// Ends the containers that end at the cursor. Returns true if another value follows (in an
  /// object, `name` is its name), false after the last value or a fault.
  bool more(json_span& name) {
    while (depth_ > 0) {
      cursor_.skip_space();
      const bool first = std::exchange(fresh_, false);
      const bool object = in_object();
      if (cursor_.peek() == (object ? '}' : ']')) {
        if (!end_container()) return false;
        ++cursor_.position;
        continue;
      }
      if (!first) {
        if (cursor_.peek() != ',') return cursor_.fail("a comma or the end is missing");
        ++cursor_.position;
      }
      name = {};
      return !object || member_name(name);
    }
    return false;
  }

  bool member_name(json_span& name) {
    cursor_.skip_space();
    if (cursor_.peek() != '"') return cursor_.fail("a member's name is missing");
    if (!string(name)) return false;
    cursor_.skip_space();
    if (cursor_.peek() != ':') return cursor_.fail("a colon is missing");
    ++cursor_.position;
    return true;
  }

  /// Lists the children of the innermost array or object, which is now complete.
  bool end_container() {
    const std::uint32_t position = open_[--depth_];
    auto& node = tree_.nodes[position];
    auto& children = tree_.children;
    const std::size_t first = children.size();
    node.end = u32(tree_.nodes.size());
    for (auto i = position + 1; i < node.end; i = tree_.nodes[i].end) children.push_back(i);
    node.span = {u32(first), u32(children.size() - first)};
    return node.kind == json_kind::array || sort_members(first);
  }

  bool sort_members(std::size_t first) {
    const auto begin = tree_.children.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = tree_.children.end();
    const auto less = [&](std::uint32_t a, std::uint32_t b) {
      return utf16_less(tree_.name(a), tree_.name(b));
    };
    const auto same = [&](std::uint32_t a, std::uint32_t b) {
      return tree_.name(a) == tree_.name(b);
    };
    if (!std::is_sorted(begin, end, less)) std::sort(begin, end, less);
    return std::adjacent_find(begin, end, same) == end || cursor_.fail("a name that occurs twice");
  }

  bool string(json_span& span) {
    const std::size_t first = tree_.bytes.size();
    if (!read_json_string(cursor_, tree_.bytes)) return false;
    span = {u32(first), u32(tree_.bytes.size() - first)};
    return true;
  }

  bool number(json_node& node) {
    const char c = cursor_.peek();
    if (c != '-' && (c < '0' || c > '9')) return cursor_.fail("a value is missing");
    node.kind = json_kind::number;
    if (rules_.numbers_as_written) {
      const std::size_t first = tree_.bytes.size();
      if (!read_json_number_text(cursor_, tree_.bytes)) return false;
      node.span = {u32(first), u32(tree_.bytes.size() - first)};
      return true;
    }
    double value = 0;
    if (!read_json_number(cursor_, value)) return false;
    node.number = value;
    return true;
  }

  bool literal(std::string_view word) {
    if (!cursor_.rest().starts_with(word)) return cursor_.fail("a value is missing");
    cursor_.position += word.size();
    return true;
  }

  json_cursor& cursor_;
  json_tree& tree_;
  const json_rules rules_;
  std::array<std::uint32_t, json_depth_max> open_;  // the containers around the cursor
  std::size_t depth_ = 0;
  bool fresh_ = false;  // a container has just begun: no comma before its first value
};

}  // namespace

bool read_json(json_cursor& cursor, json_tree& tree, json_rules rules) {
  if (cursor.text.size() > std::numeric_limits<std::uint32_t>::max() / 2) {
    return cursor.fail("longer than 2 GiB");
  }
  // Reserved once, so that no input makes these vectors grow by doubling.
  const std::size_t values = std::min(values_at_most(cursor.text), rules.values_max);
  tree.nodes.reserve(values);
  tree.children.reserve(values);
  tree.bytes.reserve(cursor.text.size());
  return reader(cursor, tree, rules).run();
}

}  // namespace onceguard
