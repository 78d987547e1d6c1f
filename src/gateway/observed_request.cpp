#include "gateway/observed_request.hpp"

#include "base/field.hpp"
#include "core/kept_key.hpp"
#include "gateway/buffers.hpp"
#include "gateway/request_work.hpp"
#include "http/forwarded_fields.hpp"
#include "http/operation.hpp"
#include "http/settle_by_answer.hpp"

namespace onceguard::gateway {

using http::request_outcome;

bool observes(const route_policy& policy, const http::admission& admitted,
              std::span<const base::field> fields) {
  if (!policy.observe || http::lists_too_many(fields)) return false;
  return admitted.kind != http::admission_kind::pass ||
         admitted.why != http::unguarded_reason::method;
}

namespace {

/// Nothing is sent to anybody by what is seen here, only shown.
http::admission with_kept_key(http::admission admitted) {
  admitted.key = core::kept_key(admitted.key);
  return admitted;
}

}  // namespace

observed_request::observed_request(session& session, http::admission admitted,
                                   const http::request& request, http::scope_memo& memo)
    : session_(session),
      admitted_(with_kept_key(std::move(admitted))),
      policy_(session.rule().rule.policy),
      body_room_(session.thread().shared.budget) {
  auto& report = session_.report();
  report.outcome = request_outcome::observed;
  switch (admitted_.kind) {
    case http::admission_kind::guard:
      seen_.with_key = true;
      report.set_record(make_record_id(admitted_.scope, admitted_.key), admitted_.scope,
                        admitted_.key);
      break;
    case http::admission_kind::pass:
      seen_.would_be = request_outcome::unguarded;
      scope_ = http::find_scope(policy_, policy_.scope, request, memo).match;
      break;
    case http::admission_kind::refuse:
      refuse(admitted_.refusal);
      break;
  }
  const auto& scope_kind = scope_ ? scope_->scope_kind : admitted_.scope_kind;
  seen_.anonymous = http::is_anonymous(scope_kind);
  report.would_be = seen_.would_be;
  const auto length = session_.head().content_length.value_or(0);
  if (seen_.with_key && length > policy_.max_request_body) {
    refuse(http::problem::request_too_large);
  }
}

void observed_request::refuse(http::problem problem) {
  seen_.would_be = session_.report().would_be = request_outcome::refused;
  seen_.problem = session_.report().would_be_problem = http::info_of(problem).type;
  drop_body();
}

void observed_request::drop_body() {
  keeps_body_ = false;
  std::string().swap(body_);
  body_room_.clear();
}

void observed_request::take(std::string_view piece) {
  if (!keeps_body_) return;
  const auto size = body_.size() + piece.size();
  if (size > policy_.max_request_body) {
    if (seen_.with_key) return refuse(http::problem::request_too_large);
    return drop_body();
  }
  const auto& budget = session_.thread().shared.budget;
  const auto left = left_by_uploads(budget.bytes_max(), policy_.max_request_body);
  if (size > small_body && !body_room_.grow_to(size, left)) return drop_body();
  body_ += piece;
}

/// Also of what would be refused, and of a body that there was no room for.
void observed_request::compare_tries() {
  const auto& head = session_.head();
  http::request request;
  request.method = head.method;
  request.target = head.target;
  request.fields = head.fields;
  request.body = body_;
  std::string_view key = seen_.with_key ? std::string_view(admitted_.key) : "";
  // It has a key, and its caller is not known by the route's scope; by what else it may be counts.
  const auto* const sent = base::find_field(head.fields, "idempotency-key");
  std::string sent_key;
  if (key.empty() && seen_.problem == "scope-missing" && sent != nullptr) {
    key = sent_key = core::kept_key(sent->value);
  }
  auto& tries = session_.thread().shared.observed.tries();
  tries.see(session_.rule().name, key, request, keeps_body_);
}

void observed_request::whole() {
  compare_tries();
  if (!keeps_body_) return;
  auto& shared = session_.thread().shared;
  const auto print = [&](const http::scope_match& under) {
    return make_fingerprint(http::rule_of(policy_), input_of(session_, under, body_)).value;
  };
  const bool anonymous = seen_.anonymous;
  if (seen_.with_key) {
    seen_ = shared.observed.see(policy_, admitted_.key, admitted_.scope, print(admitted_));
  } else if (scope_) {
    seen_ = shared.observed.see_without_key(scope_->scope, print(*scope_));
  }
  seen_.anonymous = anonymous;
  session_.report().would_be = seen_.would_be;
  drop_body();
}

void observed_request::answered(const http1::head& answer) {
  settle_terms terms;
  const auto& naming = session_.rule().naming;
  const auto proxy = http::sign_of_another(answer.status, answer.fields,
                                           naming.lacks_name(answer.fields), std::nullopt);
  http::settle_by_answer(policy_, {answer.status, answer.fields, std::nullopt, proxy}, terms);
  end_ = {terms.kind, answer.status >= 200 && answer.status < 300};
  settle();
}

void observed_request::broke_off() {
  begin_sending();
  settle();
}

void observed_request::settle() {
  session_.thread().shared.observed.settle(policy_, seen_, end_);
  settled_ = true;
}

void observed_request::count() {
  if (!settled_) settle();
  session_.thread().shared.observed.count(session_.rule().name, seen_, end_);
}

}  // namespace onceguard::gateway
