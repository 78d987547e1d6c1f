#include "store/postgres/libpq_transaction.hpp"
#include "store/postgres/transaction_claim.hpp"
#include "store/requested.hpp"
#include "store/step_flow.hpp"

namespace onceguard::postgres {
namespace {

class sql_flow final : public step_flow {
 public:
  sql_flow(sql_transaction& in, const claim& asked, const execute_policy& policy,
           const lease& granted, std::vector<step_done> done)
      : step_flow(asked.id, granted, std::move(done)), in_(in), id_(asked.id), policy_(policy) {}

  void complete(const answer& with) {
    commit([&] { return complete_text(id_, held(), with, policy_.retention); }, phase::committing);
  }

  /// Its lease ends now, so that the next attempt need not wait for its end.
  void give_up() noexcept {
    try {
      commit([&] { return abandon_text(id_, held()); }, phase::committing);
    } catch (...) {
      // It ends by itself.
    }
  }

 protected:
  void commit_step(std::string_view name, const std::function<std::string()>& progress) override {
    commit(
        [&] {
          in_.run({});  // the work sends its own statements: begin now
          return progress_text(id_, held(), name, progress(), policy_.lease);
        },
        phase::working);
  }

 private:
  /// Runs `body`, and what it says as the last statement, in one transaction.
  void commit(const std::function<std::string()>& body, phase of_body) {
    for (unsigned conflicts_met = 0;;) {
      auto at = of_body;
      try {
        const bracket unless_committed(in_);
        in_.begin(policy_.isolation);
        const auto last = body();
        at = phase::committing;
        return in_.commit(last);
      } catch (const statement_failed& failed) {
        if (is_callers(failed, at)) throw;
        if (conflicts(failed) && conflicts_met++ < policy_.conflict_retries) continue;
        if (failed.sqlstate() == "OG001") throw attempt_ended{overtaken()};
        throw attempt_ended{to_error(failed, failed.lost() ? effect::unknown : effect::none)};
      }
    }
  }

  sql_transaction& in_;
  const record_id id_;
  const execute_policy policy_;
};

/// In a transaction of its own. Kind `run`: `done` is how far the work has come.
result<verdict> claim_steps(sql_transaction& in, const claim& asked, const execute_policy& policy,
                            std::vector<step_done>& done) {
  bool committing = false;
  try {
    auto got = begin_and_claim(in, asked, policy);
    if (got.told.kind != verdict_kind::run) return std::move(got.told);
    const bracket unless_committed(in);
    auto read = decode_steps(got.progress);
    if (!read) return read.error();
    done = std::move(*read);
    committing = true;
    in.commit({});
    return std::move(got.told);
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

result<verdict> execute_steps(sql_transaction& in, const request& what,
                              const execute_policy& policy, const steps_work& work) {
  if (const auto wrong = complaint(what, policy)) return *wrong;
  if (!in.whole()) return error(errc::conflict, "execute_steps: within the caller's transaction");
  const auto asked = claim_of(what, policy, unknown_policy::rerun);
  std::vector<step_done> done;
  auto told = claim_steps(in, asked, policy, done);
  if (!told || told->kind != verdict_kind::run) return told;
  try {
    sql_flow flow(in, asked, policy, told->lease, std::move(done));
    told->answer = run_steps(flow, work);
    told->kept = answer_kept::full;
    flow.complete(*told->answer);
    return told;
  } catch (const attempt_ended& over) {
    return over.why;
  }
}

result<verdict> execute_steps(PGconn* on, const request& what, const execute_policy& policy,
                              const steps_work& work) {
  if (const auto why = not_ready(on)) return *why;
  libpq_transaction in(on);
  return execute_steps(in, what, policy, work);
}

result<verdict> execute_steps(PGconn* on, const request& what, const steps_work& work) {
  return execute_steps(on, what, execute_policy{}, work);
}

}  // namespace onceguard::postgres
