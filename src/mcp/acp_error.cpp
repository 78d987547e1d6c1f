#include "mcp/acp_error.hpp"

#include <optional>
#include <string_view>

#include "mcp/raw_json.hpp"

namespace onceguard::mcp {
namespace {

struct acp_reason {
  std::string_view type;
  std::string_view code;
  std::string_view param = {};
};

acp_reason reason_of(const refused_call& refused) {
  constexpr std::string_view key = "$.meta.idempotency_key";
  if (refused.outcome == "mismatch") return {"invalid_request", "idempotency_conflict"};
  if (refused.outcome == "key-missing") return {"invalid_request", "missing", key};
  if (refused.outcome == "key-malformed") return {"invalid_request", "invalid", key};
  if (refused.outcome == "scope-missing") return {"invalid_request", "unauthorized"};
  if (refused.next == next_step::same_key) return {"service_unavailable", refused.outcome};
  return {"processing_error", refused.outcome};
}

std::optional<std::string> text_in(std::string_view object, std::string_view name) {
  const auto members = members_of(object);
  const auto* found = members ? find_last(*members, name) : nullptr;
  return found == nullptr ? std::nullopt : string_of(found->text);
}

}  // namespace

std::string acp_refusal(const refused_call& refused) {
  const auto why = reason_of(refused);
  std::string members_of_data = R"("type":)" + json_string(why.type) + R"(,"code":)" +
                                json_string(why.code) + R"(,"message":)" +
                                json_string(refused.text);
  if (!why.param.empty()) members_of_data += R"(,"param":)" + json_string(why.param);
  return error_of_refusal(refused, members_of_data);
}

bool is_acp_answer(const message& response) {
  if (!response.result.empty()) return false;
  const auto members = members_of(response.error);
  const auto* data = members ? find_last(*members, "data") : nullptr;
  if (data == nullptr || !text_in(data->text, "code") || !text_in(data->text, "message")) {
    return false;
  }
  const auto type = text_in(data->text, "type");
  return type == "invalid_request" || type == "request_not_idempotent";
}

}  // namespace onceguard::mcp
