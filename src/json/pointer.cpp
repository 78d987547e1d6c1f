#include "json/pointer.hpp"

#include <algorithm>
#include <string>

#include <onceguard/fingerprint.hpp>

#include "base/number_in.hpp"

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

namespace onceguard {
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
  const auto index = base::number_in<std::uint32_t>(segment);
  if (!index || *index >= elements.size) return std::nullopt;
  if (segment.front() == '0' && segment.size() > 1) return std::nullopt;
  return tree.children[elements.first + *index];
}

}  // namespace

std::optional<std::uint32_t> find_child(const json_tree& tree, std::uint32_t position,
                                        std::string_view segment) {
  const auto& node = tree.nodes[position];
  if (node.kind == json_kind::object) return find_member(tree, node.span, unescaped(segment));
  if (node.kind == json_kind::array) return find_element(tree, node.span, segment);
  return std::nullopt;
}

std::optional<std::uint32_t> find_value(const json_tree& tree, std::string_view pointer) {
  std::uint32_t position = 0;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const auto segment = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(segment.size());
    const auto child = find_child(tree, position, segment);
    if (!child) return std::nullopt;
    position = *child;
  }
  return position;
}

}  // namespace onceguard
