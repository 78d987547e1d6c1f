#include "mcp/call_guard.hpp"

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "mcp/acp_error.hpp"
#include "mcp/raw_json.hpp"
#include "mcp/refused_call.hpp"
#include "mcp/x402_result.hpp"

namespace onceguard::mcp {

namespace asio = boost::asio;

namespace {

admission refuse(const message& request, const answer_form& form, const refused_call& refused) {
  admission out;
  out.response = refusal_response(refused, request.id, form);
  return out;
}

}  // namespace

call_guard::call_guard(guard& records, mcp_params params)
    : records_(records), params_(std::move(params)) {
  std::vector<milliseconds> windows{milliseconds(0), params_.window};
  for (const auto& [tool, window] : params_.windows) windows.push_back(window);
  for (const auto window : windows) {
    for (const bool rerun : {false, true}) {
      auto& policy = policies_[{window, rerun}];
      policy = params_.policy;
      if (window.count() > 0) policy.retention = window;
      if (rerun) policy.unknown = unknown_policy::rerun;
    }
  }
}

const route_policy& call_guard::policy_of(milliseconds window, bool rerun) const {
  return policies_.at({window, rerun});
}

bool call_guard::needs_hints(const tool_call& call) const noexcept {
  return call.is_tool && !call.name.empty() &&
         (!call.key.empty() || params_.window_of(call.name).count() > 0 ||
          params_.required != key_rule::optional);
}

std::string call_guard::location_of_key() const {
  const auto& locations = params_.locations;
  if (!locations.argument.empty()) return "the argument " + json_string(locations.argument);
  std::string out;
  for (const auto& name : locations.others.front().path) out += '/' + name;
  return "params" + out;
}

asio::awaitable<admission> call_guard::admit(std::string text, call_context known) {
  // The hints may change while the claim waits.
  const auto tool = known.hints == nullptr ? tool_hints() : *known.hints;
  const bool is_listed = known.hints != nullptr || !known.list_is_whole;
  const auto message = read_message(text);
  const auto call = read_tool_call(message, params_.locations, known.transport_key);
  auto form = form_of(call, params_.locations);
  admission out;
  const bool strip = call.key_is_argument && !tool.has_key_argument;
  const tool_table rules(params_.locations, params_.required);
  const auto& fault = call.fault.empty() ? known.key_fault : call.fault;
  if (!fault.empty()) co_return refuse(message, form, key_malformed(fault));
  if (call.name.empty() || tool.read_only) {
    out.forward = strip ? without_argument(text, params_.locations.argument) : std::move(text);
    co_return out;
  }
  auto print = call_fingerprint(call, tool.has_key_argument);
  auto key = call.key;
  milliseconds window{0};
  if (key.empty()) {
    window = params_.window_of(call.name);
    if (window.count() > 0) key = "content-" + base::to_hex(base::sha256_of(print));
  }
  if (key.empty()) {
    if (rules.must_have_key(tool)) co_return refuse(message, form, key_missing(location_of_key()));
    out.forward = std::move(text);
    co_return out;
  }
  if (!known.scope_fault.empty()) {
    co_return refuse(message, form, scope_missing(known.scope_fault));
  }
  print += known.caller_marks;
  request wanted(params_.scope + known.caller, key, print);
  wanted.scope_kind = "mcp";
  wanted.method = message.method;
  wanted.path = call.name;
  const auto& policy = policy_of(window, tool.idempotent);
  auto claimed = co_await records_.async_claim(std::move(wanted), policy);
  if (!claimed.lease) {
    const answered_call answered(key, std::move(form));
    out.response = answer_to(claimed.outcome, message.id, answered);
    co_return out;
  }
  out.forward = strip ? without_argument(text, params_.locations.argument) : text;
  out.call.emplace(running_call{std::move(*claimed.lease), std::move(key), std::move(form),
                                call.name, is_listed, policy.retention});
  co_return out;
}

asio::awaitable<std::string> call_guard::finish(running_call call, std::string response) {
  const auto message = read_answer(response);
  settle_terms terms;
  terms.retention = call.retention;
  terms.backoff = params_.policy.backoff;
  terms.backoff_max = params_.policy.backoff_max;
  switch (end_of(message)) {
    case response_end::complete:
      break;
    case response_end::tool_error:
      // The same call comes again with the payment, under the same key.
      terms.kind = call.form.unpaid && asks_for_payment(message.result) ? settle_kind::release
                                                                        : params_.tool_error;
      break;
    case response_end::more_input:
      terms.kind = settle_kind::release;
      break;
    case response_end::refused_call:
      // The code alone says what its sender thought, who may be far behind the effect. Only of a
      // tool that is none, nothing can have run.
      terms.kind = call.is_listed ? settle_kind::abandon : settle_kind::release;
      break;
    case response_end::unknown:
      terms.kind = call.form.acp_errors && is_acp_answer(message) ? params_.tool_error
                                                                  : settle_kind::abandon;
      break;
  }
  if (terms.kind == settle_kind::abandon) terms.why = unknown_reason::upstream_status;
  if (terms.kind == settle_kind::complete) terms.answer = stored_response(message);
  const std::string id(message.id);
  auto lease = std::move(call.lease);
  const auto ended = co_await records_.async_settle(std::move(lease), std::move(terms));
  if (ended.kind == outcome_kind::ran) co_return response;
  const answered_call answered(std::move(call.key), std::move(call.form));
  co_return answer_to(ended, id, answered);
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
  const answered_call answered(std::move(call.key), std::move(call.form));
  co_return answer_to(ended, id, answered);
}

std::string call_guard::answer_to(const outcome& got, std::string_view id,
                                  const answered_call& call) const {
  if (got.kind == outcome_kind::replay && got.answer != nullptr && got.kept == answer_kept::full) {
    if (auto response = replayed_response(*got.answer, id, call.form); !response.empty())
      return response;
  }
  return refusal_response(refused_by(refusal_of(got), call.key), id, call.form);
}

}  // namespace onceguard::mcp
