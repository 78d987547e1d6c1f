#include <onceguard/sqlite.hpp>

#include "execute/sqlite/transaction_claim.hpp"
#include "execute/step_flow.hpp"

namespace onceguard::sqlite {
inline namespace v1 {
namespace {

/// Once it runs, an operation waits for other writers, whatever the policy says for its claim.
execute_policy waiting(execute_policy policy) {
  policy.on_busy = on_busy_rule::wait;
  return policy;
}

class sqlite_flow final : public step_flow {
 public:
  sqlite_flow(connection& connection, const claim& request, const execute_policy& policy,
              const lease& granted, step_progress progress)
      : step_flow(request.id, granted, std::move(progress)),
        connection_(connection),
        claim_(request),
        policy_(waiting(policy)) {}

 protected:
  void commit_progress(std::string_view step,
                       const std::function<std::string()>& progress) override {
    commit([&](caller_transaction& now, caller_tables& tables) -> result<bool> {
      const auto bytes = progress();
      if (!now.open()) {
        return error(errc::conflict, "execute_steps: the step's transaction was ended within it",
                     effect::unknown);
      }
      return tables.save_progress(extend_lease(claim_.id, held(), policy_.lease), step, bytes);
    });
  }

  void complete(const answer_ptr& reply) override {
    commit([&](caller_transaction&, caller_tables& tables) {
      auto terms = terms_of(settle_kind::complete);
      terms.answer = reply;
      return settle(tables, std::move(terms));
    });
  }

  void give_up() noexcept override {
    try {
      commit([&](caller_transaction&, caller_tables& tables) {
        auto terms = terms_of(settle_kind::abandon);
        terms.why = unknown_reason::abandoned;
        return settle(tables, std::move(terms));
      });
    } catch (...) {
      // The lease ends at its deadline.
    }
  }

 private:
  [[nodiscard]] settle_terms terms_of(settle_kind kind) const {
    settle_terms out;
    out.kind = kind;
    out.retention = policy_.retention;
    out.by_application = true;
    return out;
  }

  /// Whether the lease still held.
  result<bool> settle(caller_tables& tables, settle_terms terms) const {
    const auto reply =
        tables.settle(settle_lease(claim_.id, held(), claim_.about, std::move(terms)));
    if (!reply) return reply.error();
    return reply->outcome == settle_outcome::done;
  }

  /// Calls `act` in a transaction of its own. `act` returns whether the lease still holds.
  template <class Act>
  void commit(Act act) {
    const auto stop = [](error why) { throw attempt_ended{std::move(why)}; };
    try {
      caller_transaction now(connection_);
      const patience until(policy_);
      if (!now.whole()) stop({errc::conflict, "execute_steps: within another transaction"});
      if (!now.begin(until)) stop(rolled_back(failure(SQLITE_BUSY, "another process writes")));
      auto tables = now.tables();
      if (!tables) stop(tables.error());
      const auto held = act(now, **tables);
      if (!held) stop(held.error());
      if (!*held) stop(overtaken());
      if (auto failed = now.commit(until)) stop(std::move(*failed));
    } catch (const failure& failed) {
      stop(rolled_back(failed));
    }
  }

  connection& connection_;
  const claim claim_;
  const execute_policy policy_;
};

/// Claims in a transaction of its own. For kind `run`, `progress` is how far the work has come.
result<verdict> claim_steps(connection& connection, const claim& request,
                            const execute_policy& policy, step_progress& progress) {
  caller_transaction transaction(connection);
  if (!transaction.whole())
    return error(errc::conflict, "execute_steps: within the caller's transaction");
  auto got = begin_and_claim(connection, transaction, request, policy);
  if (!got) return got.error();
  if (got->verdict.kind != verdict_kind::run) return std::move(got->verdict);
  auto read = decode_progress(got->progress);
  if (!read) return read.error();
  progress = std::move(*read);
  if (const auto failed = transaction.commit(patience(policy))) return *failed;
  return std::move(got->verdict);
}

}  // namespace

result<verdict> execute_steps(sqlite3* borrowed, const request& request,
                              const execute_policy& policy, const steps_work& work) {
  if (const auto wrong = complaint(request, policy)) return *wrong;
  const auto question = claim_of(request, policy, unknown_policy::rerun);
  connection connection(borrowed);
  step_progress progress;
  auto reply = claim_steps(connection, question, policy, progress);
  if (!reply || reply->kind != verdict_kind::run) return reply;
  sqlite_flow flow(connection, question, policy, reply->lease, std::move(progress));
  return flow.run(work, std::move(*reply));
}

result<verdict> execute_steps(sqlite3* database, const request& request, const steps_work& work) {
  return execute_steps(database, request, execute_policy{}, work);
}

}  // namespace v1
}  // namespace onceguard::sqlite
