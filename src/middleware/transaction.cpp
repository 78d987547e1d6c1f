// Handlers in the service's own database transaction.
#include <stdexcept>

#include <onceguard/http_transaction.hpp>

#include "base/hex.hpp"
#include "base/log.hpp"
#include "http/kept_parts.hpp"
#include "http/settle_by_answer.hpp"
#include "middleware/arriving_request.hpp"
#include "middleware/kept_answer.hpp"

namespace onceguard::http {
inline namespace v1 {
namespace {

/// Thrown through `execute`, which rolls back: the handler's answer completes nothing.
struct not_completed {};

/// The database makes the digests of scope and fingerprint itself, so it gets these as texts.
onceguard::request request_of(const exchange::state& run, const fingerprint& print) {
  onceguard::request out(base::to_hex(run.admitted.scope), run.admitted.key,
                         print.method + ' ' + base::to_hex(print.value));
  out.scope_kind = "application:http";  // the digest covers the kind of the scope
  return out;
}

execute_policy policy_of(const route_policy& policy) {
  execute_policy out;
  out.on_busy = policy.on_busy;
  out.wait = policy.wait;
  out.retention = policy.retention;
  out.lease = policy.lease;
  return out;
}

/// The answer as the record keeps it. Throws not_completed.
answer kept_answer(const response& made, const route_policy& policy, std::string_view route) {
  if (!is_final_status(made.status)) {
    throw std::invalid_argument("onceguard: an answer has a status from 200 to 999");
  }
  std::vector<field> fields;
  const auto view = view_of(made, fields);
  settle_terms terms;
  settle_by_answer(policy, {view.status, view.fields, view.body}, terms);
  if (terms.kind != settle_kind::complete) throw not_completed();
  auto kept = answer_to_keep(view, policy);
  // The record of a transaction always has an answer: of one that can't be read, the head.
  if (const auto why = keep_parts(policy, kept); !why.empty()) {
    base::log(base::event::answer_not_redacted, {{"route", route}, {"why", why}});
  }
  return kept;
}

outcome outcome_of(const verdict& reply) {
  outcome out;
  out.retry_after = reply.retry_after;
  out.answer = reply.answer;
  out.kept = reply.kept;
  switch (reply.kind) {
    case verdict_kind::replay:
      out.kind = outcome_kind::replay;
      break;
    case verdict_kind::mismatch:
    case verdict_kind::remake_fingerprint:
      out.kind = outcome_kind::mismatch;
      break;
    case verdict_kind::backoff:
      out.kind = outcome_kind::backoff;
      break;
    case verdict_kind::unknown:
      out.kind = outcome_kind::unknown;
      break;
    case verdict_kind::busy:
    case verdict_kind::refused:
    case verdict_kind::run:
      out.kind = outcome_kind::busy;
      break;
  }
  return out;
}

response reply_to_failure(const exchange::state& run, std::uint32_t attempt, error failed) {
  problem_detail more(milliseconds(1'000));
  if (failed.code == errc::conflict) {
    more = problem_detail("The database refused what the request wrote; nothing was done.");
    if (failed.effect != effect::none) more.detail.clear();
    more.status = 500;
    return run.owner->refuse(*run.rule, &run.id, problem::upstream_broken, std::move(more));
  }
  if (failed.effect != effect::none) {
    more.detail =
        "Whether the request took effect is not known yet. Send the same request with the same "
        "key again to find out.";
    run.owner->report({change_kind::in_doubt, name_of(change_kind::completed)}, *run.rule, &run.id,
                      attempt);
    return run.owner->refuse(problem::store_unreachable, std::move(more));
  }
  outcome out;
  out.kind = outcome_kind::store_failed;
  out.failure = std::move(failed);
  return run.reply_to_claim(out);
}

}  // namespace

void require_no_transaction(bool open) {
  if (!open) return;
  throw std::logic_error(
      "onceguard: serve began in an open transaction, whose COMMIT would come after the answer");
}

response serve_in_transaction(const middleware& middleware, const request& request,
                              const execute_call& execute, const callable<response()>& handler) {
  arriving_request arrived(middleware.state(), request);
  arrived.go_on_until(step::recall);
  std::optional<response> made;
  const auto answer_to_client = [&] {
    drop_replay_mark(made->headers);  // only now: what the service says of the outcome counts
    return std::move(*made);
  };
  if (auto known = arrived.known()) {
    if (auto* reply = std::get_if<response>(&*known)) return std::move(*reply);
    made.emplace(handler());
    std::vector<field> fields;
    static_cast<void>(std::get<exchange>(*known).finish(view_of(*made, fields)));
    return answer_to_client();
  }
  const auto& run = arrived.run();
  const auto& policy = run.rule->rule.policy;
  std::uint32_t attempt = 0;
  const auto report = [&](change_kind kind) {
    run.owner->report({kind}, *run.rule, &run.id, attempt);
  };
  try {
    const auto run_with = [&](const fingerprint& print) {
      return execute(request_of(run, print), policy_of(policy), [&](const lease& held) {
        attempt = held.attempt;
        report(change_kind::claimed);
        made.emplace(handler());
        return kept_answer(*made, policy, run.rule->name);
      });
    };
    auto reply = run_with(arrived.wanted().about->print);
    if (reply && reply->kind == verdict_kind::mismatch) {
      // An earlier version has made the record's fingerprint of less, and the text that it is
      // hashed with is not kept.
      auto input = arrived.wanted().input;
      if (arrived.wanted().more_before) input.more = *arrived.wanted().more_before;
      reply = run_with(make_fingerprint(policy.fingerprint, input));
    }
    if (!reply) return reply_to_failure(run, attempt, reply.error());
    if (reply->kind != verdict_kind::run) return run.reply_to_claim(outcome_of(*reply));
    report(change_kind::completed);
  } catch (const not_completed&) {
    report(change_kind::released);
  } catch (...) {
    report(change_kind::released);
    throw;
  }
  return answer_to_client();
}

}  // namespace v1
}  // namespace onceguard::http
