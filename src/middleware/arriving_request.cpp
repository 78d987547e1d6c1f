#include "middleware/arriving_request.hpp"

#include <utility>

#include "base/field.hpp"
#include "http/client_reply.hpp"
#include "http/kept_parts.hpp"
#include "http/operation.hpp"
#include "http/request_target.hpp"
#include "middleware/observed_request.hpp"

namespace onceguard::http {
inline namespace v1 {

namespace asio = boost::asio;

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

}  // namespace

void arriving_request::go_on_until(step last) {
  while (way_.at() != last) {
    switch (way_.at()) {
      case step::admit:
        way_.go_on(admit());
        break;
      case step::receive:
        way_.go_on(receive());
        break;
      case step::identify:
        way_.go_on(identify());
        break;
      case step::recall:
        way_.go_on(recall());
        break;
      default:
        return;
    }
  }
}

std::optional<beginning> arriving_request::known() {
  switch (way_.at()) {
    case step::refuse:
      return refusal_answer();
    case step::answer:
      return run_->reply_to_claim(outcome_);
    case step::forward:
      return exchange(owner_, nullptr);
    case step::observe:
      return observed_handler();
    case step::run_unguarded:
      return handler();
    default:
      return std::nullopt;
  }
}

std::string_view arriving_request::service() const {
  return terms_.service.empty() ? std::string_view(rule_->service) : terms_.service;
}

asio::awaitable<beginning> arriving_request::begin(std::stop_token caller) {
  wanted_.caller = std::move(caller);
  for (;;) {
    switch (way_.at()) {
      case step::claim:
        way_.go_on(co_await claim());
        break;
      case step::probe:
        way_.go_on(co_await probe());
        break;
      case step::run:
        if (may_run()) co_return handler();
        way_.go_on(step_end::done);
        break;
      case step::settle:
        co_await release();
        co_return owner_.refuse(*rule_, &run_->id, problem::overloaded,
                                problem_detail(milliseconds(1'000)));
      default:
        co_return known().value();
    }
  }
}

// ---- the steps

step_end arriving_request::admit() {
  if (request_.target.size() > longest_target) {
    refusal_.more.detail = "The target is too long.";
    refusal_.more.status = 414;
    return step_end::refused;
  }
  const auto* host_field = base::find_field(request_.fields, "host");
  const auto host = host_field == nullptr ? std::string_view{} : host_field->value;
  const auto& table = owner_.table;
  const auto* found = table.match(host, path_to_match(request_.target), request_.method);
  if (table.leads_around_a_key(found, host, split_target(request_.target).path, request_.method)) {
    refusal_.more.detail = around_a_key_text;
    return step_end::refused;
  }
  if (found == nullptr) return step_end::unguarded;
  rule_ = found;
  if (!owner_.trusted.empty()) {
    origin_ = find_origin(request_.client_address, request_.fields, owner_.trusted);
    request_.client_address = origin_.address;
    request_.credential_verified = request_.credential_verified || origin_.from_trusted;
  }
  const auto& policy = rule_->rule.policy;
  admitted_ = admit_on(owner_, policy, request_);
  if (observes(policy, admitted_)) return step_end::observed;
  return end_of(admitted_, refusal_);
}

step_end arriving_request::receive() {
  const auto& policy = rule_->rule.policy;
  const bool fits = !terms_.body_omitted && request_.body.size() <= policy.max_request_body;
  if (fits) return step_end::done;
  refusal_ = body_too_large(policy);
  return step_end::refused;
}

step_end arriving_request::identify() {
  const auto& policy = rule_->rule.policy;
  complete_key(admitted_, policy, make_input(request_, policy, service(), admitted_));
  const auto end = end_of(admitted_, refusal_);
  if (end != step_end::guarded) return end;
  if (is_anonymous(admitted_.scope_kind)) owner_.hint_scope(*rule_);
  run_ = std::make_unique<exchange::state>(owner_, *rule_, std::move(admitted_), request_.fields);
  wanted_ = make_operation(run_->admitted, policy, rule_->name,
                           make_input(request_, policy, service(), run_->admitted));
  wanted_.upstream = service();
  wanted_.claim = terms_.claim;
  wanted_.wait = terms_.wait;
  wanted_.into_started = terms_.into_started;
  wanted_.answer_room = &run_->answer_room;
  wanted_.longest_answer = policy.max_answer_body;
  run_->id = wanted_.id;
  return end;
}

step_end arriving_request::recall() {
  auto& engine = owner_.records->engine();
  auto found = engine.find_replay(wanted_.id, wanted_.about->print);
  for (auto under = wanted_.scopes.begin(); !found && under != wanted_.scopes.end(); ++under) {
    found = engine.find_replay(under->id, under->about->print);
  }
  if (!found) return step_end::unknown;
  outcome_ = replay_of(std::move(*found));
  return step_end::known;
}

asio::awaitable<step_end> arriving_request::claim() {
  auto got = co_await owner_.records->engine().claim(std::move(wanted_));
  outcome_ = std::move(got.outcome);
  if (got.lease) {
    run_->held.emplace(std::move(*got.lease));
    co_return run_->held->must_probe() ? step_end::fenced : step_end::granted;
  }
  if (outcome_.kind != outcome_kind::unguarded) co_return step_end::known;
  owner_.report({change_kind::unguarded}, *rule_, &run_->id);
  co_return step_end::unguarded;
}

asio::awaitable<step_end> arriving_request::probe() {
  auto& held = *run_->held;
  effect_report found;
  if (owner_.params.probe) found = owner_.params.probe(held.about(), held.lease());
  keep_parts_of(rule_->rule.policy, rule_->name, found);
  auto ended = co_await held.conclude(std::move(found));
  if (!ended) co_return step_end::unknown;
  if (ended->kind == outcome_kind::replay) {
    owner_.report({change_kind::completed, "probe"}, *rule_, &run_->id, held.lease().attempt);
  }
  outcome_ = std::move(*ended);
  run_->held.reset();
  co_return step_end::known;
}

/// False: too little of the lease is left to begin.
bool arriving_request::may_run() {
  auto& held = *run_->held;
  run_->id = held.id();
  run_->attempt = held.lease().attempt;
  if (!held.begin_sending()) return false;
  if (owner_.params.on_change) run_->watch();
  owner_.report({change_kind::claimed}, *rule_, &run_->id, run_->attempt);
  return true;
}

asio::awaitable<void> arriving_request::release() {
  settle_terms terms;
  terms.kind = settle_kind::release;
  auto held = std::move(*run_->held);
  run_->held.reset();
  static_cast<void>(co_await held.settle(std::move(terms)));
}

// ---- what it comes to

exchange arriving_request::handler() {
  if (run_) run_->way = way_;
  return exchange(owner_, std::move(run_));
}

exchange arriving_request::observed_handler() {
  std::optional<scope_match> scope;
  if (admitted_.kind == admission_kind::pass) {
    const auto& policy = rule_->rule.policy;
    scope = owner_.params.scope ? finder_of(owner_.params)(request_)
                                : find_scope(policy, policy.scope, request_, last_scope()).match;
  }
  run_ = std::make_unique<exchange::state>(owner_, *rule_, std::move(admitted_), request_.fields);
  run_->observed =
      std::make_unique<observed_request>(owner_, *rule_, run_->admitted, scope, request_);
  return handler();
}

response arriving_request::refusal_answer() {
  if (rule_ == nullptr) return owner_.refuse(refusal_.which, std::move(refusal_.more));
  return owner_.refuse(*rule_, nullptr, refusal_.which, std::move(refusal_.more));
}

}  // namespace v1
}  // namespace onceguard::http
