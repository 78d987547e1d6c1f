#include "config/policy/json_options.hpp"

#include <string>

#include "base/number_in.hpp"
#include "json/tree.hpp"

namespace onceguard::config {
namespace {

constexpr std::size_t values_max = 256;
/// The object, a table or list in it, and their items.
constexpr int depth_max = 3;

bool convert(const json_tree& tree, std::uint32_t index, int depth, node& out) {
  const auto& given = tree.nodes[index];
  const auto children = [&](const auto& each) {
    if (depth == depth_max) return false;
    for (std::uint32_t i = 0; i < given.span.size; ++i) {
      if (!each(tree.children[given.span.first + i])) return false;
    }
    return true;
  };
  switch (given.kind) {
    case json_kind::null:
      return false;
    case json_kind::no:
    case json_kind::yes:
      out.kind = node::type::boolean;
      out.boolean = given.kind == json_kind::yes;
      return true;
    case json_kind::number: {
      const auto whole = base::number_in<std::int64_t>(tree.text(given.span));
      out.kind = whole ? node::type::integer : node::type::real;
      out.integer = whole.value_or(0);
      return true;
    }
    case json_kind::string:
      out.kind = node::type::text;
      out.text = tree.text(given.span);
      return true;
    case json_kind::array:
      out.kind = node::type::array;
      return children([&](std::uint32_t child) {
        return convert(tree, child, depth + 1, out.items.emplace_back());
      });
    case json_kind::object:
      out.kind = node::type::table;
      return children([&](std::uint32_t child) {
        auto& entry = out.members.emplace_back();
        entry.name = tree.name(child);
        return convert(tree, child, depth + 1, entry.value);
      });
  }
  return false;
}

}  // namespace

result<node> read_json_options(std::string_view json) {
  const auto refused = [](const std::string& why) { return error(errc::invalid_argument, why); };
  json_cursor cursor{json};
  json_tree tree;
  if (!read_json(cursor, tree, {.numbers_as_written = true, .values_max = values_max})) {
    return refused(cursor.fault);
  }
  if (tree.nodes.front().kind != json_kind::object) return refused("expected an object of options");
  node out;
  if (convert(tree, 0, 1, out)) return out;
  return refused(out.members.empty()
                     ? "expected an object of options"
                     : "the member " + out.members.back().name + " has a value that no option has");
}

}  // namespace onceguard::config
