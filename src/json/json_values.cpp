#include "json/json_values.hpp"

#include <optional>

#include "base/number_in.hpp"
#include "json/pointer.hpp"
#include "json/tree.hpp"

namespace onceguard {

namespace {

/// Some readers skip it, and it changes no value.
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

template <class Integer>
std::optional<std::string> digits_of(std::string_view written) {
  const auto value = base::number_in<Integer>(written);
  return value ? std::optional(std::to_string(*value)) : std::nullopt;
}

/// Of an integer of up to 64 bits; empty: another number.
std::optional<std::string> integer_of(std::string_view written) {
  auto out = digits_of<std::int64_t>(written);
  return out ? out : digits_of<std::uint64_t>(written);
}

}  // namespace

json_values::json_values(std::string_view text, std::size_t values_max) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  json_cursor cursor{.text = text};
  auto tree = std::make_unique<json_tree>();
  const json_rules rules{.numbers_as_written = true, .values_max = values_max};
  if (read_json(cursor, *tree, rules)) tree_ = std::move(tree);
}

json_values::json_values(json_values&& other) noexcept = default;
json_values& json_values::operator=(json_values&& other) noexcept = default;
json_values::~json_values() = default;

json_value json_values::at(std::string_view pointer) const {
  if (!tree_) return {};
  const auto position = find_value(*tree_, pointer);
  if (!position) return {};
  const auto& node = tree_->nodes[*position];
  switch (node.kind) {
    case json_kind::null:
      return {};
    case json_kind::string:
      return {json_value::kind::text, std::string(tree_->text(node.span))};
    case json_kind::number:
      if (auto digits = integer_of(tree_->text(node.span))) {
        return {json_value::kind::text, *std::move(digits)};
      }
      break;
    case json_kind::no:
    case json_kind::yes:
    case json_kind::array:
    case json_kind::object:
      break;
  }
  return {json_value::kind::other};
}

bool json_values::lacks(std::string_view pointer) const {
  if (!tree_ || at(pointer).type != json_value::kind::absent) return false;
  const auto slash = pointer.rfind('/');
  const auto index = pointer.substr(slash + 1);
  if (index.find_first_not_of("0123456789") != index.npos) return true;
  const auto parent = find_value(*tree_, pointer.substr(0, slash));
  return !parent || tree_->nodes[*parent].kind == json_kind::array;
}

}  // namespace onceguard
