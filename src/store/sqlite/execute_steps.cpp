#include <onceguard/sqlite.hpp>

#include "store/sqlite/caller_transaction.hpp"
#include "store/step_flow.hpp"

namespace onceguard::sqlite {
namespace {

/// Once it runs, an operation waits for other writers, however its claim was to be answered.
execute_policy waiting(execute_policy policy) {
  policy.on_busy = on_busy_rule::wait;
  return policy;
}

class sqlite_flow final : public step_flow {
 public:
  sqlite_flow(connection& on, const claim& asked, const execute_policy& policy,
              const lease& granted, std::vector<step_done> done)
      : step_flow(asked.id, granted, std::move(done)),
        on_(on),
        asked_(asked),
        policy_(waiting(policy)) {}

  void complete(const answer_ptr& with) {
    commit([&](caller_transaction&, caller_tables& in) {
      auto how = settlement_of(settle_kind::complete);
      how.answer = with;
      return holds(in.settle(how));
    });
  }

  /// Its lease ends now, so that the next attempt need not wait for its end.
  void give_up() noexcept {
    try {
      commit([&](caller_transaction&, caller_tables& in) {
        auto how = settlement_of(settle_kind::abandon);
        how.why = unknown_reason::abandoned;
        return holds(in.settle(how));
      });
    } catch (...) {
      // It ends by itself.
    }
  }

 protected:
  void commit_step(std::string_view name, const std::function<std::string()>& progress) override {
    commit([&](caller_transaction& now, caller_tables& in) -> result<bool> {
      const auto bytes = progress();
      if (!now.open()) {
        return error(errc::conflict, "execute_steps: the step's transaction was ended within it",
                     effect::unknown);
      }
      extension how;
      how.id = asked_.id;
      how.token = held().token;
      how.claim_id = held().claim_id;
      how.lease = policy_.lease;
      return in.save_progress(how, name, bytes);
    });
  }

 private:
  [[nodiscard]] settlement settlement_of(settle_kind kind) const {
    settlement out;
    out.id = asked_.id;
    out.token = held().token;
    out.claim_id = held().claim_id;
    out.about = asked_.about;
    out.kind = kind;
    out.retention = policy_.retention;
    out.by_application = true;
    return out;
  }

  static result<bool> holds(const result<settled>& told) {
    if (!told) return told.error();
    return told->outcome == settle_outcome::done;
  }

  /// `act` in a transaction of its own; it says whether the lease still holds.
  template <class Act>
  void commit(Act act) {
    const auto stop = [](error why) { throw attempt_ended{std::move(why)}; };
    try {
      caller_transaction now(on_);
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

  connection& on_;
  const claim asked_;
  const execute_policy policy_;
};

/// In a transaction of its own. Kind `run`: `done` is how far the work has come.
result<verdict> claim_steps(connection& on, const claim& asked, const execute_policy& policy,
                            std::vector<step_done>& done) {
  caller_transaction in(on);
  if (!in.whole()) return error(errc::conflict, "execute_steps: within the caller's transaction");
  auto got = begin_and_claim(on, in, asked, policy);
  if (!got) return got.error();
  if (got->told.kind != verdict_kind::run) return std::move(got->told);
  auto read = decode_steps(got->progress);
  if (!read) return read.error();
  done = std::move(*read);
  if (const auto failed = in.commit(patience(policy))) return *failed;
  return std::move(got->told);
}

answer_ptr run_steps(sqlite_flow& flow, const steps_work& work) {
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

result<verdict> execute_steps(sqlite3* borrowed, const request& what, const execute_policy& policy,
                              const steps_work& work) {
  if (const auto wrong = complaint(what, policy)) return *wrong;
  const auto asked = claim_of(what, policy, unknown_policy::rerun);
  connection on(borrowed);
  std::vector<step_done> done;
  auto told = claim_steps(on, asked, policy, done);
  if (!told || told->kind != verdict_kind::run) return told;
  try {
    sqlite_flow flow(on, asked, policy, told->lease, std::move(done));
    told->answer = run_steps(flow, work);
    told->kept = answer_kept::full;
    flow.complete(told->answer);
    return told;
  } catch (const attempt_ended& over) {
    return over.why;
  }
}

result<verdict> execute_steps(sqlite3* on, const request& what, const steps_work& work) {
  return execute_steps(on, what, execute_policy{}, work);
}

}  // namespace onceguard::sqlite
