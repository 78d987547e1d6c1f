#include "mcp/message.hpp"

#include <fmt/format.h>

#include "base/number_in.hpp"
#include "mcp/raw_json.hpp"

namespace onceguard::mcp {
namespace {

/// The parts of a message; `text` is an object.
message parts_of(const std::vector<raw_value>& members) {
  message out;
  const auto view = [&](std::string_view name) {
    const auto* found = find_last(members, name);
    return found == nullptr ? std::string_view() : found->text;
  };
  out.ambiguous = has_repeats(members);
  out.id = view("id");
  out.params = view("params");
  out.result = view("result");
  out.error = view("error");
  if (const auto* method = find_last(members, "method")) {
    out.method = string_of(method->text).value_or("");
    out.kind = out.id.empty() ? message_kind::notification : message_kind::request;
  } else if (!out.id.empty() && (!out.result.empty() || !out.error.empty())) {
    out.kind = message_kind::response;
  }
  return out;
}

}  // namespace

message read_message(std::string_view text) {
  message out;
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return out;
  if (!is_json(text)) {
    out.kind = message_kind::malformed;
    return out;
  }
  if (text[begin] == '[') {
    out.kind = message_kind::batch;
    return out;
  }
  const auto members = members_of(text);
  return members ? parts_of(*members) : out;
}

message read_answer(std::string_view text) {
  const auto members = members_of(text);
  return members ? parts_of(*members) : message();
}

std::string id_value(std::string_view id) {
  if (const auto text = string_of(id)) return '"' + *text;
  const auto number = base::number_in<double>(id);
  if (!number) return std::string(id);
  return fmt::format("{}", *number == 0 ? 0 : *number);  // -0 is 0
}

std::string refusal_of(const message& given) {
  const auto refuse = [](std::string_view id, int code, const char* why) {
    return make_response(id.empty() ? "null" : id, "error",
                         "{\"code\":" + std::to_string(code) +
                             ",\"message\":" + json_string(std::string("Onceguard: ") + why) + '}');
  };
  if (given.kind == message_kind::malformed) return refuse({}, -32'700, "this is no JSON");
  if (given.kind == message_kind::batch) return refuse({}, -32'600, "batches are not supported");
  if (given.ambiguous) return refuse(given.id, -32'600, "a member stands there twice");
  return {};
}

std::string_view cancelled_id(const message& notification) {
  if (notification.kind != message_kind::notification ||
      notification.method != "notifications/cancelled") {
    return {};
  }
  const auto params = members_of(notification.params);
  const auto* id = params ? find(*params, "requestId") : nullptr;
  return id == nullptr ? std::string_view() : id->text;
}

response_end end_of(const message& response) {
  // It says both, and readers differ in what counts.
  if (!response.error.empty() && !response.result.empty()) return response_end::unknown;
  if (!response.error.empty()) {
    const auto members = members_of(response.error);
    const auto* code = members ? find_last(*members, "code") : nullptr;
    const auto number = code == nullptr ? std::string() : id_value(code->text);
    // Unknown method, and invalid parameters, which an unknown tool is among.
    return number == "-32601" || number == "-32602" ? response_end::refused_call
                                                    : response_end::unknown;
  }
  const auto members = members_of(response.result);
  if (!members) return response_end::unknown;
  const auto* type = find_last(*members, "resultType");
  if (type != nullptr && type->text == "\"input_required\"") return response_end::more_input;
  return is_true(find_last(*members, "isError")) ? response_end::tool_error
                                                 : response_end::complete;
}

std::string make_response(std::string_view id, std::string_view member, std::string_view value) {
  std::string out = R"({"jsonrpc":"2.0","id":)";
  out += id;
  out += ",\"";
  out += member;
  out += "\":";
  out += value;
  out += '}';
  return out;
}

}  // namespace onceguard::mcp
