#include "execute/postgres/libpq_transaction.hpp"
#include "execute/postgres/transaction_claim.hpp"
#include "execute/request.hpp"
#include "execute/step_flow.hpp"

namespace onceguard::postgres {
inline namespace v1 {
namespace {

class sql_flow final : public step_flow {
 public:
  sql_flow(sql_transaction& transaction, const claim& request, const execute_policy& policy,
           const lease& granted, std::vector<step_done> done)
      : step_flow(request.id, granted, std::move(done)),
        transaction_(transaction),
        id_(request.id),
        policy_(policy) {}

  void complete(const answer& answer) {
    commit([&] { return complete_text(id_, held(), answer, policy_.retention); },
           phase::committing);
  }

  /// Ends the lease now, so that the next attempt need not wait for its deadline.
  void give_up() noexcept {
    try {
      commit([&] { return abandon_text(id_, held()); }, phase::committing);
    } catch (...) {
      // The lease ends at its deadline.
    }
  }

 protected:
  void commit_step(std::string_view name, const std::function<std::string()>& progress) override {
    commit(
        [&] {
          transaction_.run({});  // begin now, because the work sends statements itself
          return progress_text(id_, held(), name, progress(), policy_.lease);
        },
        phase::working);
  }

 private:
  /// Runs `body` in one transaction, with the text that `body` returns as the last statement.
  void commit(const std::function<std::string()>& body, phase of_body) {
    for (unsigned conflicts_met = 0;;) {
      auto reached = of_body;
      try {
        const bracket unless_committed(transaction_);
        transaction_.begin(policy_.isolation);
        const auto last = body();
        reached = phase::committing;
        return transaction_.commit(last);
      } catch (const statement_failed& failed) {
        if (is_callers(failed, reached)) throw;
        if (conflicts(failed) && conflicts_met++ < policy_.conflict_retries) continue;
        if (failed.sqlstate() == "OG001") throw attempt_ended{overtaken()};
        throw attempt_ended{to_error(failed, failed.lost() ? effect::unknown : effect::none)};
      }
    }
  }

  sql_transaction& transaction_;
  const record_id id_;
  const execute_policy policy_;
};

/// Claims in a transaction of its own. For kind `run`, `done` holds the steps done so far.
result<verdict> claim_steps(sql_transaction& transaction, const request& request,
                            const claim& wanted, const execute_policy& policy,
                            std::vector<step_done>& done) {
  bool committing = false;
  try {
    auto got = begin_and_claim(transaction, request, wanted, policy);
    if (got.verdict.kind != verdict_kind::run) return std::move(got.verdict);
    const bracket unless_committed(transaction);
    auto read = decode_steps(got.progress);
    if (!read) return read.error();
    done = std::move(*read);
    committing = true;
    transaction.commit({});
    return std::move(got.verdict);
  } catch (const statement_failed& failed) {
    return to_error(failed, committing && failed.lost() ? effect::unknown : effect::none);
  }
}

answer_ptr run_steps(sql_flow& flow, const steps_work& work) {
  try {
    auto out = checked(work(flow));
    if (flow.ended()) throw attempt_ended{*flow.ended()};
    return out;
  } catch (...) {
    if (!flow.ended()) flow.give_up();
    throw;
  }
}

}  // namespace

result<verdict> execute_steps(sql_transaction& transaction, const request& request,
                              const execute_policy& policy, const steps_work& work) {
  if (const auto wrong = complaint(request, policy)) return *wrong;
  if (!transaction.whole())
    return error(errc::conflict, "execute_steps: within the caller's transaction");
  const auto question = claim_of(request, policy, unknown_policy::rerun);
  std::vector<step_done> done;
  auto reply = claim_steps(transaction, request, question, policy, done);
  if (!reply || reply->kind != verdict_kind::run) return reply;
  try {
    sql_flow flow(transaction, question, policy, reply->lease, std::move(done));
    reply->answer = run_steps(flow, work);
    reply->kept = answer_kept::full;
    flow.complete(*reply->answer);
    return reply;
  } catch (const attempt_ended& over) {
    return over.why;
  }
}

result<verdict> execute_steps(PGconn* connection, const request& request,
                              const execute_policy& policy, const steps_work& work) {
  if (const auto why = not_ready(connection)) return *why;
  libpq_transaction transaction(connection);
  return execute_steps(transaction, request, policy, work);
}

result<verdict> execute_steps(PGconn* connection, const request& request, const steps_work& work) {
  return execute_steps(connection, request, execute_policy{}, work);
}

}  // namespace v1
}  // namespace onceguard::postgres
