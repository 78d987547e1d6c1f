#include "mcp/tool_call.hpp"

#include <algorithm>

#include <onceguard/fingerprint.hpp>
#include <onceguard/key.hpp>

#include "mcp/raw_json.hpp"
#include "text/json_text.hpp"

namespace onceguard::mcp {
namespace {

/// Of the revision that made the protocol stateless.
constexpr std::string_view first_with_result_type = "2026-07-28";

/// Takes over a key, unless it contradicts another one.
bool take_key(std::string key, bool if_no_other, tool_call& out) {
  if (key.empty() || key.size() > key_size_max) {
    out.fault =
        "the idempotency key must have 1 to 255 bytes, and has " + std::to_string(key.size());
  } else if (!is_utf8(key)) {
    out.fault = "the idempotency key is no UTF-8";
  } else if (out.key.empty()) {
    out.key = std::move(key);
    return true;
  } else if (out.key == key) {
    return true;
  } else if (!if_no_other) {
    out.fault = "the call has two different idempotency keys";
  }
  return false;
}

void take_keys(std::string_view params, const key_locations& locations, tool_call& out) {
  for (const auto& location : locations.all()) {
    const auto value = value_at(params, location.path);
    if (value.empty()) continue;
    const bool in_arguments = out.is_tool && location.path.front() == "arguments";
    // Whatever stands there, it is no part of what was asked for.
    if (in_arguments) out.omitted.push_back({{location.path.begin() + 1, location.path.end()}});
    if (!out.is_tool) out.omitted.push_back({location.path});
    if (value == "null" || !out.fault.empty()) continue;
    auto key = string_of(value);
    if (!key) {
      out.fault = "the idempotency key must be a text";
    } else if (take_key(std::move(*key), location.if_no_other, out)) {
      auto& list = location.is_described ? out.omitted_by_own : out.omitted;
      list.insert(list.end(), location.omitted.begin(), location.omitted.end());
    }
  }
  out.omitted.insert(out.omitted.end(), locations.omitted.begin(), locations.omitted.end());
}

/// A name that stands there twice, where a key may be: readers differ in which one counts.
bool is_ambiguous(std::string_view params, const key_locations& locations) {
  const auto twice = [](std::string_view text) {
    const auto members = members_of(text);
    return members && has_repeats(*members);
  };
  return std::ranges::any_of(locations.all(), [&](const key_location& location) {
    auto path = location.path;
    for (; !path.empty(); path.pop_back()) {
      if (twice(value_at(params, path))) return true;
    }
    return false;
  });
}

}  // namespace

bool is_call(const message& request, const key_locations& locations) {
  if (request.kind != message_kind::request) return false;
  return request.method == "tools/call" ||
         std::ranges::find(locations.methods, request.method) != locations.methods.end();
}

tool_call read_tool_call(const message& request, const key_locations& locations,
                         const std::optional<std::string>& transport_key) {
  tool_call out;
  const auto params = members_of(request.params);
  out.is_tool = request.method == "tools/call";
  out.name =
      out.is_tool ? string_of(value_at(request.params, {"name"})).value_or("") : request.method;
  if (out.name.empty() || !params) return out;  // the server says what is wrong
  const auto version =
      value_at(request.params, {"_meta", "io.modelcontextprotocol/protocolVersion"});
  out.has_payment = !value_at(request.params, {"_meta", "x402/payment"}).empty();
  out.has_result_type = string_of(version).value_or("") >= first_with_result_type;
  out.arguments = out.is_tool ? value_at(request.params, {"arguments"}) : request.params;
  const auto arguments = members_of(out.arguments);
  if (request.ambiguous || has_repeats(*params) || is_ambiguous(request.params, locations)) {
    out.fault = "a member stands there twice";
  } else if (arguments && has_repeats(*arguments)) {
    out.fault = "an argument stands there twice";
  } else if (!is_utf8(out.name)) {
    out.fault = "the name of the tool is no UTF-8";
  }
  out.key_is_argument = out.is_tool && !locations.argument.empty() &&
                        !value_at(out.arguments, {locations.argument}).empty();
  if (transport_key && out.fault.empty()) take_key(*transport_key, false, out);
  take_keys(request.params, locations, out);
  return out;
}

std::string without_argument(std::string_view text, const std::string& argument) {
  return without_at(text, {"params", "arguments", argument});
}

std::string call_fingerprint(const tool_call& call, bool tool_has_argument) {
  std::string arguments(call.arguments.empty() ? std::string_view("{}") : call.arguments);
  const auto leave_out = [&](const std::vector<omission>& list) {
    for (const auto& each : list) {
      const auto value = value_at(arguments, each.path);
      if (value.empty() || (each.only_object && !value.starts_with('{'))) continue;
      arguments = without_at(arguments, each.path);
    }
  };
  leave_out(call.omitted);
  if (tool_has_argument) leave_out(call.omitted_by_own);
  if (auto canonical = canonical_json(arguments)) arguments = std::move(*canonical);
  return std::to_string(call.name.size()) + ':' + call.name + arguments;
}

}  // namespace onceguard::mcp
