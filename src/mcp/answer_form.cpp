#include "mcp/answer_form.hpp"

#include "mcp/adcp_result.hpp"
#include "mcp/message.hpp"
#include "mcp/raw_json.hpp"

namespace onceguard::mcp {

answer_form form_of(const tool_call& call, const key_locations& locations) {
  answer_form out;
  out.has_result_type = call.has_result_type;
  out.is_tool = call.is_tool;
  if (locations.adcp_answers && call.is_tool) {
    const auto context = value_at(call.arguments, {"context"});
    out.adcp_context = members_of(context) ? std::string(context) : std::string();
  }
  return out;
}

std::string repeated_result(const std::string& result, const answer_form& form) {
  constexpr std::string_view mark = R"("onceguard/replayed":true)";
  const std::string_view name = form.is_tool ? "_meta" : "metadata";
  const auto given = form.adcp_context ? adcp_repeat(result, *form.adcp_context) : result;
  const auto members = members_of(given);
  if (!members) return given;
  const auto* meta = find_last(*members, name);
  if (meta == nullptr) {
    return with_first(given, '"' + std::string(name) + "\":{" + std::string(mark) + '}');
  }
  if (!members_of(meta->text)) return given;
  return with_value(given, *meta, with_first(meta->text, mark));
}

std::string refusal_response(const refused_call& refused, std::string_view id,
                             const answer_form& form) {
  if (!form.is_tool) return make_response(id, "error", error_of_refusal(refused));
  const auto result = result_of_refusal(refused, form.has_result_type);
  return make_response(
      id, "result", form.adcp_context ? adcp_refusal(result, refused, *form.adcp_context) : result);
}

}  // namespace onceguard::mcp
