#include "execute/postgres/libpq_transaction.hpp"
#include "execute/postgres/transaction_claim.hpp"
#include "execute/request.hpp"

namespace onceguard::postgres {
inline namespace v1 {
namespace {

verdict run_once(sql_transaction& transaction, const request& request, const claim& wanted,
                 const execute_policy& policy, const effect_work& work, phase& reached) {
  reached = phase::claiming;
  auto got = begin_and_claim(transaction, request, wanted, policy);
  if (got.verdict.kind != verdict_kind::run) return std::move(got.verdict);
  const bracket unless_committed(transaction);
  reached = phase::working;
  got.verdict.answer = checked(work(got.verdict.lease));
  got.verdict.kept = answer_kept::full;
  reached = phase::committing;
  transaction.commit(
      complete_text(wanted.id, got.verdict.lease, *got.verdict.answer, policy.retention));
  return std::move(got.verdict);
}

}  // namespace

result<verdict> execute(sql_transaction& transaction, const request& request,
                        const execute_policy& policy, const effect_work& work) {
  if (const auto wrong = complaint(request, policy)) return *wrong;
  for (unsigned conflicts_met = 0;;) {
    // A claim id of its own for each attempt: the record of one whose work has committed it is met
    // as somebody else's, and the work does not run on it again.
    const auto question = claim_of(request, policy, unknown_policy::hold);
    auto reached = phase::claiming;
    try {
      return run_once(transaction, request, question, policy, work, reached);
    } catch (const statement_failed& failed) {
      if (is_callers(failed, reached)) throw;
      const bool again = transaction.whole() && conflicts(failed) && reached != phase::claiming;
      if (again && conflicts_met++ < policy.conflict_retries) continue;
      if (reached != phase::claiming && was_committed(transaction, failed, request, question)) {
        return ended_by_work();
      }
      const bool unsure = failed.lost() && transaction.whole() && reached == phase::committing;
      return to_error(failed, unsure ? effect::unknown : effect::none);
    }
  }
}

result<verdict> execute(PGconn* connection, const request& request, const execute_policy& policy,
                        const effect_work& work) {
  if (const auto why = not_ready(connection)) return *why;
  libpq_transaction transaction(connection);
  return execute(transaction, request, policy, work);
}

bool has_open_transaction(PGconn* connection) noexcept {
  const auto status = PQtransactionStatus(connection);
  return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
}

result<verdict> execute(PGconn* connection, const request& request, const effect_work& work) {
  return execute(connection, request, execute_policy{}, work);
}

}  // namespace v1
}  // namespace onceguard::postgres
