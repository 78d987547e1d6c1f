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
           const lease& granted, step_progress progress)
      : step_flow(request.id, granted, std::move(progress)),
        transaction_(transaction),
        id_(request.id),
        policy_(policy) {}

 protected:
  void commit_progress(std::string_view step,
                       const std::function<std::string()>& progress) override {
    commit(
        [&] {
          transaction_.run({});  // begin now, because the work sends statements itself
          return progress_text(id_, held(), step, progress(), policy_.lease);
        },
        phase::working);
  }

  void complete(const answer_ptr& reply) override {
    commit([&] { return complete_text(id_, held(), *reply, policy_.retention); },
           phase::committing);
  }

  void give_up() noexcept override {
    try {
      commit([&] { return abandon_text(id_, held()); }, phase::committing);
    } catch (...) {
      // The lease ends at its deadline.
    }
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
        if (ended_before(failed)) throw attempt_ended{ended_by_work()};
        throw attempt_ended{to_error(failed, failed.lost() ? effect::unknown : effect::none)};
      }
    }
  }

  sql_transaction& transaction_;
  const record_id id_;
  const execute_policy policy_;
};

/// Claims in a transaction of its own. For kind `run`, `progress` is how far the work has come.
result<verdict> claim_steps(sql_transaction& transaction, const request& request,
                            const claim& wanted, const execute_policy& policy,
                            step_progress& progress) {
  bool committing = false;
  try {
    auto got = begin_and_claim(transaction, request, wanted, policy);
    if (got.verdict.kind != verdict_kind::run) return std::move(got.verdict);
    const bracket unless_committed(transaction);
    auto read = decode_progress(got.progress);
    if (!read) return read.error();
    progress = std::move(*read);
    committing = true;
    transaction.commit({});
    return std::move(got.verdict);
  } catch (const statement_failed& failed) {
    return to_error(failed, committing && failed.lost() ? effect::unknown : effect::none);
  }
}

}  // namespace

result<verdict> execute_steps(sql_transaction& transaction, const request& request,
                              const execute_policy& policy, const steps_work& work) {
  if (const auto wrong = complaint(request, policy)) return *wrong;
  if (!transaction.whole())
    return error(errc::conflict, "execute_steps: within the caller's transaction");
  const auto question = claim_of(request, policy, unknown_policy::rerun);
  step_progress progress;
  auto reply = claim_steps(transaction, request, question, policy, progress);
  if (!reply || reply->kind != verdict_kind::run) return reply;
  sql_flow flow(transaction, question, policy, reply->lease, std::move(progress));
  return flow.run(work, std::move(*reply));
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
