#include <onceguard/sqlite.hpp>

#include "execute/sqlite/transaction_claim.hpp"

namespace onceguard::sqlite {
inline namespace v1 {
namespace {

constexpr std::size_t swept_along = 4;

settlement complete_of(const claim& request, const verdict& verdict, const execute_policy& policy) {
  settle_terms terms;
  terms.answer = verdict.answer;
  terms.retention = policy.retention;
  terms.by_application = true;
  return settle_lease(request.id, verdict.lease, request.about, std::move(terms));
}

error ended_by_others() {
  return {errc::conflict, "execute: the transaction was ended while the work ran in it",
          effect::unknown};
}

std::optional<error> complete(caller_transaction& transaction, const claim& request,
                              const verdict& verdict, const execute_policy& policy) {
  try {
    if (!transaction.open()) return ended_by_others();
    auto tables = transaction.tables();
    if (!tables) return tables.error();
    const auto done = (*tables)->settle(complete_of(request, verdict, policy));
    if (!done) return done.error();
    if (done->outcome != settle_outcome::done) return ended_by_others();
    static_cast<void>((*tables)->sweep(swept_along));
  } catch (const failure& failed) {
    return rolled_back(failed);
  }
  return transaction.commit(patience(policy));
}

/// Calls `act` in a transaction of its own, or in a part of the caller's.
template <class T, class Act>
result<T> in_transaction(sqlite3* borrowed, Act act) {
  connection connection(borrowed);
  try {
    caller_transaction transaction(connection);
    const patience until{execute_policy{}};
    if (!transaction.begin(until))
      return rolled_back(failure(SQLITE_BUSY, "another process writes"));
    auto tables = transaction.tables();
    if (!tables) return tables.error();
    result<T> out = act(**tables);
    if (const auto failed = transaction.commit(until)) return *failed;
    return out;
  } catch (const failure& failed) {
    return rolled_back(failed);
  }
}

}  // namespace

result<void> prepare(sqlite3* database) {
  const auto done = in_transaction<bool>(database, [](caller_tables&) { return true; });
  if (!done) return done.error();
  return {};
}

bool has_open_transaction(sqlite3* database) noexcept {
  return sqlite3_get_autocommit(database) == 0;
}

result<std::size_t> sweep(sqlite3* database, std::size_t most) {
  return in_transaction<std::size_t>(database,
                                     [&](caller_tables& tables) { return tables.sweep(most); });
}

result<verdict> execute(sqlite3* borrowed, const request& request, const execute_policy& policy,
                        const effect_work& work) {
  if (const auto wrong = complaint(request, policy)) return *wrong;
  const auto question = claim_of(request, policy, unknown_policy::hold);
  connection connection(borrowed);
  caller_transaction transaction(connection);
  auto got = begin_and_claim(connection, transaction, question, policy);
  if (!got) return got.error();
  auto& reply = got->verdict;
  if (reply.kind != verdict_kind::run) return std::move(reply);
  reply.answer = checked(work(reply.lease));
  reply.kept = answer_kept::full;
  if (const auto failed = complete(transaction, question, reply, policy)) return *failed;
  return std::move(reply);
}

result<verdict> execute(sqlite3* database, const request& request, const effect_work& work) {
  return execute(database, request, execute_policy{}, work);
}

}  // namespace v1
}  // namespace onceguard::sqlite
