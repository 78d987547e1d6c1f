#include "http/outcome_in_answer.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "http/forwarded_fields.hpp"
#include "http/kept_parts.hpp"
#include "json/pointer.hpp"
#include "json/scalars.hpp"
#include "json/tree.hpp"

namespace onceguard::http {
namespace {

outcome_rule rule_of_word(std::string_view word) noexcept {
  if (base::iequals(word, "done")) return outcome_rule::complete;
  if (base::iequals(word, "none")) return outcome_rule::release;
  return outcome_rule::unknown;
}

bool has_coding(std::span<const base::field> fields) noexcept {
  const auto* coding = base::find_field(fields, "content-encoding");
  return coding != nullptr && !coding->value.empty() && !base::iequals(coding->value, "identity");
}

/// Whether one of several fields of that name, or one element of a list in them, is as the rule
/// says.
bool field_fits(const answer_part& rule, std::span<const base::field> fields) {
  bool fits = false;
  for (const auto& f : fields) {
    if (!base::iequals(f.name, rule.name)) continue;
    if (rule.value.empty()) return true;
    base::each_list_element(f.value,
                            [&](std::string_view one) { fits |= base::iequals(one, rule.value); });
  }
  return fits;
}

/// As it is written, or in its shortest form: 1.0 is 1. An identifier of 64 bits only has the
/// first.
bool number_fits(std::string_view written, std::string_view value) {
  if (written == value) return true;
  json_cursor cursor{.text = written};
  double number = 0;
  if (!read_json_number(cursor, number)) return false;
  std::string shortest;
  append_json_number(shortest, number);
  return shortest == value;
}

bool value_fits(const answer_part& rule, const json_tree& tree) {
  const auto position = find_value(tree, rule.name);
  if (!position) return false;
  const auto& node = tree.nodes[*position];
  std::string_view text;
  switch (node.kind) {
    case json_kind::null:
      text = "null";
      break;
    case json_kind::no:
      text = "false";
      break;
    case json_kind::yes:
      text = "true";
      break;
    case json_kind::number:
      return rule.value.empty() || number_fits(tree.text(node.span), rule.value);
    case json_kind::string:
      text = tree.text(node.span);
      break;
    case json_kind::array:
    case json_kind::object:
      return rule.value.empty() && node.span.size != 0;
  }
  if (!rule.value.empty()) return text == rule.value;
  const bool nothing = node.kind == json_kind::null || node.kind == json_kind::no;
  return !nothing && !text.empty();
}

}  // namespace

std::optional<outcome_rule> word_of_service(std::span<const base::field> fields) noexcept {
  std::optional<outcome_rule> out;
  for (const auto& f : fields) {
    if (!base::iequals(f.name, outcome_field)) continue;
    const auto word = rule_of_word(base::trim(f.value));
    // Fields that contradict one another say nothing.
    out = out && *out != word ? outcome_rule::unknown : word;
  }
  return out;
}

std::optional<outcome_rule> meaning_of_parts(std::span<const answer_part> rules,
                                             std::span<const base::field> fields,
                                             std::optional<std::string_view> body) {
  if (rules.empty()) return std::nullopt;
  json_tree tree;
  bool readable = body && !body->empty() && !has_coding(fields);
  const bool needed =
      std::any_of(rules.begin(), rules.end(), [](const auto& rule) { return rule.json; });
  if (readable && needed) {
    constexpr std::string_view mark = "\xef\xbb\xbf";  // some frameworks begin UTF-8 with it
    json_cursor cursor{.text = body->substr(body->starts_with(mark) ? mark.size() : 0)};
    // The rules must not depend on how large a number beside them is.
    readable = read_json(cursor, tree, {.numbers_as_written = true});
  }
  // A rule for one value goes before a rule for any value.
  for (const bool with_value : {true, false}) {
    for (const auto& rule : rules) {
      if (rule.value.empty() == with_value) continue;
      const bool fits = rule.json ? readable && value_fits(rule, tree) : field_fits(rule, fields);
      if (fits) return rule.meaning;
    }
  }
  return std::nullopt;
}

bool reads_answers(const route_policy& policy) noexcept {
  const auto& rules = policy.outcome_parts;
  return keeps_parts_of_json(policy) ||
         std::any_of(rules.begin(), rules.end(), [](const auto& rule) { return rule.json; });
}

}  // namespace onceguard::http
