// What a request comes to before its claim.
#include "base/field.hpp"
#include "http/operation.hpp"
#include "http/target.hpp"
#include "middleware/observed_request.hpp"
#include "middleware/state.hpp"

namespace onceguard::http {
inline namespace v1 {
namespace {

scope_finder finder_of(const middleware_params& params) {
  return [&params](const request& arrived) -> std::optional<scope_match> {
    const auto found = params.scope(arrived);
    if (!found) return std::nullopt;
    scope_match out;
    out.scope = make_scope_digest(found->kind, found->value);
    out.scope_kind = found->kind;
    return out;
  };
}

scope_memo& last_scope() {
  thread_local scope_memo last;
  return last;
}

admission admit_on(const middleware_state& middleware, const route_policy& policy,
                   const request& request) {
  if (middleware.params.scope) return admit(policy, request, finder_of(middleware.params));
  return admit(policy, request, last_scope());
}

/// The exchange of a request that is only observed.
exchange observe(const middleware_state& middleware, const ready_route& rule, admission admitted,
                 const request& arrived) {
  std::optional<scope_match> scope;
  if (admitted.kind == admission_kind::pass) {
    scope = middleware.params.scope
                ? finder_of(middleware.params)(arrived)
                : find_scope(rule.rule.policy, rule.rule.policy.scope, arrived, last_scope()).match;
  }
  auto run = std::make_unique<exchange::state>(middleware, rule, std::move(admitted));
  run->observed =
      std::make_unique<observed_request>(middleware, rule, run->admitted, scope, arrived);
  return exchange(middleware, std::move(run));
}

admitted_request known(beginning reply) {
  admitted_request out;
  out.known.emplace(std::move(reply));
  return out;
}

}  // namespace

std::optional<response> find_in_memory(const admitted_request& admitted) {
  auto& engine = admitted.run->owner->records->engine();
  const auto& wanted = admitted.wanted;
  auto found = engine.find_replay(wanted.id, wanted.about->print);
  for (auto under = wanted.scopes.begin(); !found && under != wanted.scopes.end(); ++under) {
    found = engine.find_replay(under->id, under->about->print);
  }
  if (!found) return std::nullopt;
  return admitted.run->reply_to_claim(replay_of(std::move(*found)));
}

admitted_request admit_request(const middleware_state& middleware, const request& request) {
  const auto* host = base::find_field(request.fields, "host");
  const auto host_text = host == nullptr ? std::string_view{} : host->value;
  const auto* found =
      middleware.table.match(host_text, path_to_match(request.target), request.method);
  if (middleware.table.leads_around_a_key(found, host_text, split_target(request.target).path,
                                          request.method)) {
    problem_detail more{std::string(around_a_key_text)};
    return known(middleware.refuse(problem::bad_request, std::move(more)));
  }
  if (found == nullptr) return known(exchange(middleware, nullptr));
  const auto& policy = found->rule.policy;

  auto arrived = request;
  client_origin origin;
  if (!middleware.trusted.empty()) {
    origin = find_origin(request.client_address, request.fields, middleware.trusted);
    arrived.client_address = origin.address;
    arrived.credential_verified = request.credential_verified || origin.from_trusted;
  }
  auto admitted = admit_on(middleware, policy, arrived);
  if (observes(policy, admitted)) {
    return known(observe(middleware, *found, std::move(admitted), arrived));
  }
  if (admitted.kind == admission_kind::pass) return known(exchange(middleware, nullptr));
  if (admitted.kind == admission_kind::refuse) {
    problem_detail more{std::move(admitted.detail)};
    return known(middleware.refuse(*found, nullptr, admitted.refusal, std::move(more)));
  }
  if (request.body.size() > policy.max_request_body) {
    problem_detail more{"A request with an idempotency key may have a body of up to " +
                        std::to_string(policy.max_request_body) + " bytes here. Nothing was run."};
    return known(middleware.refuse(*found, nullptr, problem::request_too_large, std::move(more)));
  }
  complete_key(admitted, policy, make_input(arrived, policy, middleware.params.service, admitted));
  if (admitted.kind == admission_kind::pass) return known(exchange(middleware, nullptr));
  if (admitted.kind == admission_kind::refuse) {
    problem_detail more{std::move(admitted.detail)};
    return known(middleware.refuse(*found, nullptr, admitted.refusal, std::move(more)));
  }
  if (is_anonymous(admitted.scope_kind)) middleware.hint_scope(*found);

  admitted_request out;
  out.run = std::make_unique<exchange::state>(middleware, *found, std::move(admitted));
  auto& run = *out.run;
  const auto input = make_input(arrived, policy, middleware.params.service, run.admitted);
  out.wanted = make_operation(run.admitted, policy, found->name, input);
  run.id = out.wanted.id;
  out.wanted.upstream = middleware.params.service;
  out.wanted.answer_room = &run.answer_room;
  out.wanted.longest_answer = policy.max_answer_body;
  return out;
}

}  // namespace v1
}  // namespace onceguard::http
