#include "middleware/observed_request.hpp"

#include "core/kept_key.hpp"
#include "http/operation.hpp"
#include "http/settle_by_answer.hpp"

namespace onceguard::http {
inline namespace v1 {

bool observes(const route_policy& policy, const admission& admitted) noexcept {
  if (!policy.observe) return false;
  return admitted.kind != admission_kind::pass || admitted.why != unguarded_reason::method;
}

observed_request::observed_request(const middleware_state& owner, const ready_route& rule,
                                   const admission& admitted,
                                   const std::optional<scope_match>& scope, const request& arrived)
    : owner_(owner), rule_(rule) {
  if (admitted.kind == admission_kind::refuse) {
    refuse(admitted.refusal);
  } else {
    compare(admitted, scope, arrived);
  }
  const auto& scope_kind = scope ? scope->scope_kind : admitted.scope_kind;
  seen_.anonymous = is_anonymous(scope_kind);
}

observed_request::~observed_request() {
  // Nobody knows what became of a handler that was dropped.
  if (!settled_) settle({settle_kind::abandon, false});
  owner_.observed->count(rule_.name, seen_, end_);
  owner_.report({change_kind::observed, name_of(seen_.would_be)}, rule_,
                record_ ? &*record_ : nullptr);
}

void observed_request::compare(const admission& admitted, const std::optional<scope_match>& scope,
                               const request& arrived) {
  const auto& policy = rule_.rule.policy;
  const bool with_key = admitted.kind == admission_kind::guard;
  const bool fits = arrived.body.size() <= policy.max_request_body;
  const auto print = [&](const scope_match& under) {
    const auto input = make_input(arrived, policy, rule_.service, under);
    return make_fingerprint(rule_of(policy), input).value;
  };
  seen_.with_key = with_key;
  const auto key = with_key ? core::kept_key(admitted.key) : std::string();
  owner_.observed->tries().see(rule_.name, key, arrived, fits);
  if (with_key) {
    record_ = make_record_id(admitted.scope, key);
    if (!fits) return refuse(problem::request_too_large);
    seen_ = owner_.observed->see(policy, key, admitted.scope, print(admitted));
  } else {
    seen_.would_be = request_outcome::unguarded;
    if (scope && fits) seen_ = owner_.observed->see_without_key(scope->scope, print(*scope));
  }
}

void observed_request::refuse(problem which) {
  seen_.would_be = request_outcome::refused;
  seen_.problem = info_of(which).type;
}

void observed_request::answered(const answer_view& made) {
  settle_terms terms;
  settle_by_answer(rule_.rule.policy, {made.status, made.fields, made.body}, terms);
  settle({terms.kind, made.status >= 200 && made.status < 300});
}

void observed_request::failed(const settle_terms& terms) { settle({terms.kind, false}); }

void observed_request::settle(observing::ending end) {
  end_ = end;
  owner_.observed->settle(rule_.rule.policy, seen_, end_);
  settled_ = true;
}

}  // namespace v1
}  // namespace onceguard::http
