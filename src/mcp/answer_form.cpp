#include "mcp/answer_form.hpp"

#include "mcp/acp_error.hpp"
#include "mcp/adcp_result.hpp"
#include "mcp/message.hpp"
#include "mcp/raw_json.hpp"
#include "mcp/ucp_error.hpp"

namespace onceguard::mcp {
namespace {

/// The answer in a record: the result or the error of the first response, as it was written.
constexpr const char* member_header = "Onceguard-Json-Rpc";

/// The object with the mark in one of its members.
std::string marked(const std::string& object, std::string_view name) {
  constexpr std::string_view mark = R"("onceguard/replayed":true)";
  const auto members = members_of(object);
  if (!members) return object;
  const auto* holder = find_last(*members, name);
  if (holder == nullptr) {
    return with_first(object, json_string(name) + ":{" + std::string(mark) + '}');
  }
  if (!members_of(holder->text)) return object;
  return with_value(object, *holder, with_first(holder->text, mark));
}

}  // namespace

answer_form form_of(const tool_call& call, const key_locations& locations) {
  answer_form out;
  out.has_result_type = call.has_result_type;
  out.is_tool = call.is_tool;
  out.acp_errors = locations.acp_errors && call.is_tool;
  out.ucp_errors = locations.ucp_errors && call.is_tool;
  out.unpaid = locations.x402_prices && call.is_tool && !call.has_payment;
  if (locations.adcp_answers && call.is_tool) {
    const auto context = value_at(call.arguments, {"context"});
    out.adcp_context = members_of(context) ? std::string(context) : std::string();
  }
  return out;
}

std::string repeated_result(const std::string& result, const answer_form& form) {
  if (form.is_tool) {
    return marked(form.adcp_context ? adcp_repeat(result, *form.adcp_context) : result, "_meta");
  }
  // Version 1 of A2A has an envelope about what has metadata, and none in it.
  const auto members = members_of(result);
  if (members && members->size() == 1) {
    const auto& entity = members->front();
    if (members_of(entity.text)) {
      return with_value(result, entity, marked(std::string(entity.text), "metadata"));
    }
  }
  return marked(result, "metadata");
}

std::string repeated_error(const std::string& error) { return marked(error, "data"); }

answer_ptr stored_response(const message& response) {
  auto out = std::make_shared<answer>();
  out->status = 200;
  const bool result = response.error.empty();
  out->headers.emplace_back("Content-Type", "application/json");
  out->headers.emplace_back(member_header, result ? "result" : "error");
  out->body = result ? response.result : response.error;
  return out;
}

std::string replayed_response(const answer& kept, std::string_view id, const answer_form& form) {
  for (const auto& [name, value] : kept.headers) {
    if (name != member_header) continue;
    if (value == "result") return make_response(id, value, repeated_result(kept.body, form));
    if (value == "error") return make_response(id, value, repeated_error(kept.body));
  }
  // Of an operator, who knows the result.
  if (!is_json(kept.body)) return {};
  const auto members = members_of(kept.body);
  const bool is_result = members && (!form.is_tool || find(*members, "content") != nullptr);
  return is_result ? make_response(id, "result", repeated_result(kept.body, form)) : std::string();
}

std::string refusal_response(const refused_call& refused, std::string_view id,
                             const answer_form& form) {
  if (form.acp_errors) return make_response(id, "error", acp_refusal(refused));
  if (form.ucp_errors) return make_response(id, "error", ucp_refusal(refused));
  if (!form.is_tool) return make_response(id, "error", error_of_refusal(refused));
  const auto result = result_of_refusal(refused, form.has_result_type);
  return make_response(
      id, "result", form.adcp_context ? adcp_refusal(result, refused, *form.adcp_context) : result);
}

}  // namespace onceguard::mcp
