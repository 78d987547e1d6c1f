#include "mcp/call_guard.hpp"

#include "base/hash.hpp"
#include "mcp/raw_json.hpp"
#include "mcp/refused_call.hpp"

namespace onceguard::mcp {

namespace asio = boost::asio;

namespace {

/// The answer in a record: the result or the error of the first response, as it was written.
constexpr const char* member_header = "Onceguard-Json-Rpc";

route_policy rerunning(route_policy policy) {
  policy.unknown = unknown_policy::rerun;
  return policy;
}

route_policy within(milliseconds window, route_policy policy) {
  if (window.count() > 0) policy.retention = window;
  return policy;
}

answer_ptr stored(const message& response) {
  auto out = std::make_shared<answer>();
  out->status = 200;
  const bool result = response.error.empty();
  out->headers.emplace_back("Content-Type", "application/json");
  out->headers.emplace_back(member_header, result ? "result" : "error");
  out->body = result ? response.result : response.error;
  return out;
}

/// Empty: the answer is none of a call.
std::string replayed(const answer& kept, std::string_view id) {
  if (!is_json(kept.body)) return {};
  for (const auto& [name, value] : kept.headers) {
    if (name == member_header && (value == "result" || value == "error")) {
      return make_response(id, value, kept.body);
    }
  }
  // Of an operator, who knows the result.
  const auto members = members_of(kept.body);
  const bool is_result = members && find(*members, "content") != nullptr;
  return is_result ? make_response(id, "result", kept.body) : std::string();
}

admission refuse(const message& request, const tool_call& call, const refused_call& refused) {
  admission out;
  out.response =
      make_response(request.id, "result", result_of_refusal(refused, call.has_result_type));
  return out;
}

}  // namespace

call_guard::call_guard(guard& records, mcp_params params)
    : records_(records),
      params_(std::move(params)),
      rerun_(rerunning(params_.policy)),
      content_(within(params_.window, params_.policy)),
      content_rerun_(rerunning(content_)) {}

bool call_guard::needs_hints(const tool_call& call) const noexcept {
  return !call.name.empty() && (!call.key.empty() || params_.window.count() > 0 ||
                                params_.required != key_rule::optional);
}

asio::awaitable<admission> call_guard::admit(std::string text, const tool_hints* hints,
                                             std::string caller) {
  // The hints may change while the claim waits.
  const auto tool = hints == nullptr ? tool_hints() : *hints;
  const auto message = read_message(text);
  const auto call = read_tool_call(message, params_.argument);
  admission out;
  const bool strip = call.key_is_argument && !tool.has_key_argument;
  const tool_table rules(params_.argument, params_.required);
  if (!call.fault.empty()) co_return refuse(message, call, key_malformed(call.fault));
  if (call.name.empty() || tool.read_only) {
    out.forward = strip ? without_argument(text, params_.argument) : std::move(text);
    co_return out;
  }
  const auto print = call_fingerprint(call, params_.argument);
  auto key = call.key;
  const bool by_content = key.empty() && params_.window.count() > 0;
  if (by_content) key = "content-" + base::to_hex(base::sha256_of(print));
  if (key.empty()) {
    if (rules.must_have_key(tool)) co_return refuse(message, call, key_missing(params_.argument));
    out.forward = std::move(text);
    co_return out;
  }
  request wanted(params_.scope + caller, key, print);
  wanted.scope_kind = "mcp";
  wanted.method = "tools/call";
  wanted.path = call.name;
  const auto& policy = by_content ? (tool.idempotent ? content_rerun_ : content_)
                                  : (tool.idempotent ? rerun_ : params_.policy);
  auto claimed = co_await records_.async_claim(std::move(wanted), policy);
  if (!claimed.lease) {
    out.response = answer_to(claimed.outcome, message.id, key, call.has_result_type);
    co_return out;
  }
  out.forward = strip ? without_argument(text, params_.argument) : text;
  out.call.emplace(running_call{std::move(*claimed.lease), std::move(key), by_content,
                                call.has_result_type, policy.retention});
  co_return out;
}

asio::awaitable<std::string> call_guard::finish(running_call call, std::string response) {
  const auto message = read_message(response);
  settle_terms terms;
  terms.retention = call.retention;
  terms.backoff = params_.policy.backoff;
  terms.backoff_max = params_.policy.backoff_max;
  switch (end_of(message)) {
    case response_end::complete:
      break;
    case response_end::tool_error:
      terms.kind = params_.tool_error;
      break;
    case response_end::nothing_done:
      terms.kind = settle_kind::release;
      break;
    case response_end::unknown:
      terms.kind = settle_kind::abandon;
      break;
  }
  if (terms.kind == settle_kind::abandon) terms.why = unknown_reason::upstream_status;
  if (terms.kind == settle_kind::complete) terms.answer = stored(message);
  const std::string id(message.id);
  auto lease = std::move(call.lease);
  const auto ended = co_await records_.async_settle(std::move(lease), std::move(terms));
  if (ended.kind == outcome_kind::ran) co_return response;
  co_return answer_to(ended, id, call.key, call.has_result_type);
}

asio::awaitable<void> call_guard::release(running_call call) {
  settle_terms terms;
  terms.kind = settle_kind::release;
  auto lease = std::move(call.lease);
  static_cast<void>(co_await records_.async_settle(std::move(lease), std::move(terms)));
}

asio::awaitable<std::string> call_guard::give_up(running_call call, std::string id,
                                                 unknown_reason why) {
  settle_terms terms;
  terms.kind = settle_kind::abandon;
  terms.why = why;
  auto lease = std::move(call.lease);
  auto ended = co_await records_.async_settle(std::move(lease), std::move(terms));
  if (ended.kind != outcome_kind::replay) {
    ended = outcome();
    ended.kind = outcome_kind::unknown;
  }
  co_return answer_to(ended, id, call.key, call.has_result_type);
}

std::string call_guard::answer_to(const outcome& got, std::string_view id, const std::string& key,
                                  bool has_result_type) const {
  if (got.kind == outcome_kind::replay && got.answer != nullptr && got.kept == answer_kept::full) {
    if (auto response = replayed(*got.answer, id); !response.empty()) return response;
  }
  return make_response(id, "result",
                       result_of_refusal(refused_by(refusal_of(got), key), has_result_type));
}

}  // namespace onceguard::mcp
