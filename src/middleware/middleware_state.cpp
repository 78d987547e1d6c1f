#include "middleware/middleware_state.hpp"

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/time_text.hpp"
#include "engine/held_bytes.hpp"
#include "http/kept_parts.hpp"
#include "http/replayed_answer.hpp"
#include "http/settle_by_answer.hpp"
#include "middleware/kept_answer.hpp"
#include "middleware/observed_request.hpp"

namespace onceguard::http {
inline namespace v1 {
namespace {

/// An answer of the middleware's own, as it is sent now.
response dated(response made) {
  made.headers.emplace_back("Date", base::http_date(base::system_clock().wall_ms() / 1'000));
  return made;
}

}  // namespace

middleware_state::middleware_state(onceguard::guard* over, middleware_params given,
                                   std::vector<ready_route> routes,
                                   std::vector<address_block> proxies)
    : records(over),
      params(std::move(given)),
      table(std::move(routes)),
      trusted(std::move(proxies)) {
  for (const auto& entry : table.entries()) {
    if (!entry.rule.policy.observe) continue;
    observed = std::make_unique<observing::observation>();
    break;
  }
}

middleware_state::~middleware_state() {
  if (observed) observed->log_counts();
}

response middleware_state::refuse(problem which, problem_detail more,
                                  const route_policy* policy) const {
  return dated(problem_answer(which, params.problem_base, more, policy));
}

response middleware_state::refuse(const ready_route& rule, const record_id* id, problem which,
                                  problem_detail more) const {
  report({change_kind::refused, info_of(which).type}, rule, id);
  return refuse(which, std::move(more), &rule.rule.policy);
}

void middleware_state::report(seen_change seen, const ready_route& rule, const record_id* id,
                              std::uint32_t attempt) const noexcept {
  report_change(params.on_change, seen, rule.name, id, attempt);
}

void middleware_state::hint_scope(const ready_route& rule) const {
  // Relaxed: it guards no data, and only says who writes the line.
  if (rule.hinted->exchange(true, std::memory_order_relaxed)) return;
  base::log(base::event::anonymous_scope,
            {{"route", rule.name},
             {"hint",
              "a request had no Authorization, so its callers share one scope; set the scope of "
              "this route, or a scope function"}});
}

exchange::state::state(const middleware_state& middleware, const ready_route& route,
                       admission found, std::span<const field> fields)
    : owner(&middleware),
      rule(&route),
      admitted(std::move(found)),
      negotiation(fields_for_replay(fields)),
      answer_room(middleware.records == nullptr ? byte_reservation()
                                                : byte_reservation(middleware.records->budget())) {}

exchange::state::~state() = default;

void exchange::state::watch() {
  held->watch(
      [this](lease_event seen) { owner->report(change_of_event(seen), *rule, &id, attempt); });
}

response exchange::state::replay(answer_ptr stored) const {
  std::vector<field> fields;
  fields.reserve(negotiation.size());
  for (const auto& [name, value] : negotiation) fields.push_back({name, value});
  const auto& policy = rule->rule.policy;
  response out = *answer_for(std::move(stored), fields, policy, policy.max_answer_body);
  out.headers.emplace_back("Idempotent-Replayed", "true");
  return dated(std::move(out));
}

response exchange::state::reply_to_claim(const outcome& outcome) const {
  const auto reply = reply_to(outcome);
  log_refusal(reply, id);
  if (reply.kind == reply_kind::stored) {
    owner->report({change_kind::replayed}, *rule, &id);
    return replay(outcome.answer);
  }
  if (owner->params.on_change) {
    auto kind = change_kind::refused;  // also of a stored answer that can't be sent
    if (outcome.kind != outcome_kind::replay) kind = change_of_claim(outcome).kind;
    owner->report({kind, info_of(reply.which).type}, *rule, &id);
  }
  return owner->refuse(reply.which, reply.more);
}

bool is_final_status(std::uint16_t status) noexcept { return status >= 200 && status <= 999; }

settle_terms exchange::state::terms_of(const answer_view& made) {
  const auto& policy = rule->rule.policy;
  settle_terms terms;
  settle_by_answer(policy, {made.status, made.fields, made.body}, terms);
  if (!is_final_status(made.status)) {
    terms.kind = settle_kind::abandon;
    return terms;
  }
  if (!made.body || is_event_stream(made.fields)) {
    terms.kept = answer_kept::streamed;
    return terms;
  }
  if (made.body->size() > policy.max_answer_body) {
    terms.kept = answer_kept::too_large;
    return terms;
  }
  if (!policy.keep_body) terms.kept = answer_kept::status_only;
  if (terms.kind != settle_kind::complete) return terms;
  auto kept = std::make_shared<answer>(answer_to_keep(made, policy));
  terms.answer = std::move(kept);
  keep_parts_of(policy, rule->name, terms);
  answer_room.set(terms.answer == nullptr ? 0 : bytes_of(*terms.answer));
  return terms;
}

std::optional<response> exchange::state::reply_to_settle(const settle_terms& terms,
                                                         const outcome& outcome) const {
  const auto reply = reply_to(outcome);
  log_refusal(reply, id);
  owner->report(change_of_settle(outcome, terms.why), *rule, &id, attempt);
  switch (reply.kind) {
    case reply_kind::work:
      return std::nullopt;
    case reply_kind::stored:
      return replay(outcome.answer);
    case reply_kind::refusal:
      break;
  }
  return owner->refuse(reply.which, reply.more);
}

}  // namespace v1
}  // namespace onceguard::http
