#include "mcp/message.hpp"

#include <array>

#include <onceguard/fingerprint.hpp>
#include <onceguard/key.hpp>

#include "mcp/raw_json.hpp"

namespace onceguard::mcp {
namespace {

/// Names in `_meta` under which a key is looked for.
constexpr std::array<std::string_view, 3> meta_names{"onceguard/idempotency-key", "idempotencyKey",
                                                     "idempotency-key"};
/// Of the revision that made the protocol stateless.
constexpr std::string_view first_with_result_type = "2026-07-28";

/// Takes over a key, unless it is none or contradicts another one.
void take_key(const raw_value* value, tool_call& out) {
  if (value == nullptr || !out.fault.empty() || value->text == "null") return;
  auto key = string_of(value->text);
  if (!key) {
    out.fault = "the idempotency key must be a text";
  } else if (key->empty() || key->size() > key_size_max) {
    out.fault = "the idempotency key must have 1 to 255 bytes";
  } else if (!out.key.empty() && out.key != *key) {
    out.fault = "the call has two different idempotency keys";
  } else {
    out.key = std::move(*key);
  }
}

void read_meta(std::string_view text, tool_call& out) {
  const auto meta = members_of(text);
  if (!meta) return;
  if (has_repeats(*meta)) out.fault = "a member of _meta stands there twice";
  for (const auto name : meta_names) take_key(find(*meta, name), out);
  if (const auto* version = find(*meta, "io.modelcontextprotocol/protocolVersion")) {
    out.has_result_type = string_of(version->text).value_or("") >= first_with_result_type;
  }
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
  if (!members) return out;
  out.ambiguous = has_repeats(*members);
  const auto view = [&](std::string_view name) {
    const auto* found = find(*members, name);
    return found == nullptr ? std::string_view() : found->text;
  };
  out.id = view("id");
  out.params = view("params");
  out.result = view("result");
  out.error = view("error");
  if (const auto* method = find(*members, "method")) {
    out.method = string_of(method->text).value_or("");
    out.kind = out.id.empty() ? message_kind::notification : message_kind::request;
  } else if (!out.id.empty() && (!out.result.empty() || !out.error.empty())) {
    out.kind = message_kind::response;
  }
  return out;
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

tool_call read_tool_call(const message& request, std::string_view argument) {
  tool_call out;
  const auto params = members_of(request.params);
  const auto* name = params ? find(*params, "name") : nullptr;
  if (name != nullptr) out.name = string_of(name->text).value_or("");
  if (out.name.empty()) return out;  // the server says what is wrong
  if (request.ambiguous || has_repeats(*params)) out.fault = "a member stands there twice";
  // As the proposal SEP-3182 of 2026 has it.
  take_key(find(*params, "idempotencyKey"), out);
  if (const auto* meta = find(*params, "_meta")) read_meta(meta->text, out);
  if (const auto* given = find(*params, "arguments")) {
    out.arguments = given->text;
    const auto arguments = members_of(given->text);
    if (arguments && has_repeats(*arguments)) out.fault = "an argument stands there twice";
    if (arguments && !argument.empty()) {
      const auto* key = find(*arguments, argument);
      out.key_is_argument = key != nullptr;
      take_key(key, out);
    }
  }
  return out;
}

std::string without_argument(std::string_view text, std::string_view argument) {
  const auto members = members_of(text);
  const auto* params = members ? find(*members, "params") : nullptr;
  const auto of_params = params == nullptr ? std::nullopt : members_of(params->text);
  const auto* given = of_params ? find(*of_params, "arguments") : nullptr;
  const auto arguments = given == nullptr ? std::nullopt : members_of(given->text);
  const auto* removed = arguments ? find(*arguments, argument) : nullptr;
  if (removed == nullptr) return std::string(text);
  const auto rest = without(given->text, *removed);
  return with_value(text, *params, with_value(params->text, *given, rest));
}

std::string call_fingerprint(const tool_call& call, std::string_view argument) {
  std::string arguments(call.arguments.empty() ? std::string_view("{}") : call.arguments);
  if (call.key_is_argument) {
    const auto members = members_of(arguments);
    arguments = without(arguments, *find(*members, argument));
  }
  if (auto canonical = canonical_json(arguments)) arguments = std::move(*canonical);
  return std::to_string(call.name.size()) + ':' + call.name + arguments;
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
  if (!response.error.empty()) {
    const auto members = members_of(response.error);
    const auto* code = members ? find(*members, "code") : nullptr;
    // Parse error, invalid request, unknown method, invalid parameters.
    for (const std::string_view harmless : {"-32700", "-32600", "-32601", "-32602"}) {
      if (code != nullptr && code->text == harmless) return response_end::nothing_done;
    }
    return response_end::unknown;
  }
  const auto members = members_of(response.result);
  if (!members) return response_end::unknown;
  const auto* type = find(*members, "resultType");
  // The client calls again, with what was asked for.
  if (type != nullptr && type->text == "\"input_required\"") return response_end::nothing_done;
  return is_true(find(*members, "isError")) ? response_end::tool_error : response_end::complete;
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
