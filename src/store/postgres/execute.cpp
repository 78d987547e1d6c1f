#include "store/postgres/libpq_transaction.hpp"
#include "store/postgres/transaction_claim.hpp"
#include "store/requested.hpp"

namespace onceguard::postgres {
namespace {

verdict run_once(sql_transaction& in, const claim& asked, const execute_policy& policy,
                 const effect_work& work, phase& at) {
  at = phase::claiming;
  auto got = begin_and_claim(in, asked, policy);
  if (got.told.kind != verdict_kind::run) return std::move(got.told);
  const bracket unless_committed(in);
  at = phase::working;
  got.told.answer = checked(work(got.told.lease));
  got.told.kept = answer_kept::full;
  at = phase::committing;
  in.commit(complete_text(asked.id, got.told.lease, *got.told.answer, policy.retention));
  return std::move(got.told);
}

}  // namespace

result<verdict> execute(sql_transaction& in, const request& what, const execute_policy& policy,
                        const effect_work& work) {
  if (const auto wrong = complaint(what, policy)) return *wrong;
  const auto asked = claim_of(what, policy, unknown_policy::hold);
  for (unsigned conflicts_met = 0;;) {
    auto at = phase::claiming;
    try {
      return run_once(in, asked, policy, work, at);
    } catch (const statement_failed& failed) {
      if (is_callers(failed, at)) throw;
      const bool again = in.whole() && conflicts(failed) && at != phase::claiming;
      if (again && conflicts_met++ < policy.conflict_retries) continue;
      const bool unsure = failed.lost() && in.whole() && at == phase::committing;
      return to_error(failed, unsure ? effect::unknown : effect::none);
    }
  }
}

result<verdict> execute(PGconn* on, const request& what, const execute_policy& policy,
                        const effect_work& work) {
  if (const auto why = not_ready(on)) return *why;
  libpq_transaction in(on);
  return execute(in, what, policy, work);
}

result<verdict> execute(PGconn* on, const request& what, const effect_work& work) {
  return execute(on, what, execute_policy{}, work);
}

}  // namespace onceguard::postgres
