#include "mcp/tool_table.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "mcp/raw_json.hpp"

namespace onceguard::mcp {
namespace {

constexpr std::string_view description =
    "Idempotency key. Make a new one (a UUID) for each new operation, and send the same one again "
    "with the same arguments when you repeat the call because its result did not come: the "
    "operation then takes effect once, and you get the first result.";

/// Whether other parts of a schema, or other documents, have a say in what its members are, and
/// may name this one.
bool may_name(std::string_view part, std::string_view whole, const std::string& name) {
  constexpr std::array<const char*, 10> words{
      "$ref", "$dynamicRef", "$recursiveRef",    "allOf",       "anyOf", "oneOf",
      "if",   "then",        "dependentSchemas", "dependencies"};
  const bool composed =
      std::ranges::any_of(words, [&](const char* word) { return !value_at(part, {word}).empty(); });
  const auto reference = string_of(value_at(part, {"$ref"})).value_or("#");
  return !reference.starts_with('#') || (composed && whole.find(json_string(name)) != whole.npos);
}

/// Whether a schema of arguments describes the one at the path, or may do so.
bool describes(std::string_view schema, std::span<const std::string> path) {
  auto part = schema;
  for (const auto& name : path) {
    const auto inner = value_at(part, {"properties", name});
    if (inner.empty()) return may_name(part, schema, path.back());
    part = inner;
  }
  return true;
}

tool_hints hints_of(const std::vector<raw_value>& tool, const key_locations& locations) {
  tool_hints out;
  const auto* annotations = find(tool, "annotations");
  if (const auto members = annotations == nullptr ? std::nullopt : members_of(annotations->text)) {
    out.read_only = is_true(find(*members, "readOnlyHint"));
    out.idempotent = is_true(find(*members, "idempotentHint"));
    const auto* destructive = find(*members, "destructiveHint");
    out.destructive = destructive == nullptr || destructive->text != "false";
  }
  out.destructive = out.destructive && !out.read_only;
  const auto* schema = find(tool, "inputSchema");
  if (schema == nullptr) return out;
  const std::span argument(&locations.argument, 1);
  out.has_key_argument = !locations.argument.empty() && describes(schema->text, argument);
  out.has_key_location = std::ranges::any_of(locations.all(), [&](const key_location& location) {
    return location.path.size() > 1 && location.path.front() == "arguments" &&
           describes(schema->text, std::span(location.path).subspan(1));
  });
  return out;
}

/// The tools in a result of `tools/list`.
std::optional<std::vector<raw_value>> tools_in(const std::vector<raw_value>& result) {
  const auto* tools = find(result, "tools");
  return tools == nullptr ? std::nullopt : elements_of(tools->text);
}

}  // namespace

std::string tool_table::learn(std::string_view result) {
  const auto members = members_of(result);
  const auto tools = members ? tools_in(*members) : std::nullopt;
  if (!tools) return {};
  for (const auto& each : *tools) {
    const auto tool = members_of(each.text);
    const auto* name = tool ? mcp::find(*tool, "name") : nullptr;
    const auto text = name == nullptr ? std::nullopt : string_of(name->text);
    if (text) tools_[*text] = hints_of(*tool, locations_);
  }
  const auto* cursor = mcp::find(*members, "nextCursor");
  return cursor == nullptr || !string_of(cursor->text) ? std::string() : std::string(cursor->text);
}

std::string tool_table::described(std::string_view result) const {
  std::string out(result);
  const auto members = members_of(result);
  const auto* list = members ? mcp::find(*members, "tools") : nullptr;
  const auto tools = list == nullptr ? std::nullopt : elements_of(list->text);
  if (!tools || locations_.argument.empty()) return out;
  std::string changed(list->text);
  // From the last, so that the places of those before stay right.
  for (auto each = tools->rbegin(); each != tools->rend(); ++each) {
    const auto tool = members_of(each->text);
    const auto* schema = tool ? mcp::find(*tool, "inputSchema") : nullptr;
    if (schema == nullptr || !members_of(schema->text)) continue;
    const auto hints = hints_of(*tool, locations_);
    if (hints.read_only || hints.has_key_location) continue;
    const auto text = described_schema(schema->text, must_have_key(hints));
    changed = with_value(changed, *each, with_value(each->text, *schema, text));
  }
  return with_value(result, *list, changed);
}

std::string tool_table::described_schema(std::string_view schema, bool required) const {
  std::string out(schema);
  const auto property = json_string(locations_.argument) +
                        R"(:{"type":"string","minLength":1,"maxLength":255,)" +
                        "\"description\":" + json_string(description) + '}';
  const auto members = members_of(out);
  const auto* properties = mcp::find(*members, "properties");
  if (properties != nullptr && members_of(properties->text)) {
    out = with_value(out, *properties, with_first(properties->text, property));
  } else if (properties == nullptr) {
    out = with_first(out, "\"properties\":{" + property + '}');
  }
  if (!required) return out;
  const auto now = members_of(out);
  const auto* names = mcp::find(*now, "required");
  if (names == nullptr)
    return with_first(out, "\"required\":[" + json_string(locations_.argument) + ']');
  if (!elements_of(names->text)) return out;
  return with_value(out, *names, with_first(names->text, json_string(locations_.argument)));
}

const tool_hints* tool_table::find(const std::string& name) const {
  const auto found = tools_.find(name);
  return found == tools_.end() ? nullptr : &found->second;
}

bool tool_table::must_have_key(const tool_hints& hints) const noexcept {
  switch (rule_) {
    case key_rule::optional:
      return false;
    case key_rule::destructive:
      return hints.destructive;
    case key_rule::all:
      return !hints.read_only;
  }
  return false;
}

}  // namespace onceguard::mcp
