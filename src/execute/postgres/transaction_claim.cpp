#include "execute/postgres/transaction_claim.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "base/random.hpp"
#include "execute/request.hpp"
#include "store/postgres/connection/remedy.hpp"

namespace onceguard::postgres {
namespace {

/// A claim that lost a race against an older snapshot is made again, as nothing has run yet.
constexpr unsigned claim_conflicts_max = 32;

bool is_any(const statement_failed& failed, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
    return failed.sqlstate().starts_with(prefix);
  });
}

/// Waits in a transaction of its own, so that the next claim sees what was committed meanwhile.
void wait_for_key(sql_transaction& transaction, isolation_level level, const request& request,
                  milliseconds at_most) {
  const bracket whatever_happens(transaction);
  try {
    transaction.begin(level);
    transaction.run(wait_text(request, at_most));
  } catch (const statement_failed& failed) {
    if (failed.sqlstate() != "55P03") throw;
  }
}

}  // namespace

bool conflicts(const statement_failed& failed) noexcept {
  return failed.sqlstate().starts_with("40");
}

bool is_callers(const statement_failed& failed, phase reached) noexcept {
  return reached == phase::working && !conflicts(failed) && !failed.lost();
}

error ended_by_work() {
  return {errc::conflict, "execute: the work ended the transaction that it ran in",
          effect::unknown};
}

bool ended_before(const statement_failed& failed) noexcept {
  return is_any(failed, {"3B001", "25P01"});  // no such savepoint, no transaction
}

bool was_committed(sql_transaction& transaction, const statement_failed& failed,
                   const request& request, const claim& wanted) noexcept {
  if (ended_before(failed)) return true;
  if (failed.lost() || !transaction.whole()) return false;
  try {
    // A claim of another one, which is rolled back. Whoever runs the operation now has it locked;
    // what stands there without a lock was committed unsettled.
    const bracket whatever_happens(transaction);
    transaction.begin(isolation_level::as_session);
    auto other = wanted;
    base::random_bytes(other.claim_id);
    const auto found = read_claimed(transaction.run(claim_text(request, other)), other);
    return !found.locked && (found.verdict.kind == verdict_kind::busy ||
                             found.verdict.kind == verdict_kind::unknown);
  } catch (...) {
    return false;
  }
}

error to_error(const statement_failed& failed, effect on_store) {
  const failure known{failed.sqlstate(), failed.what(), failed.lost()};
  auto out = to_error(known, "postgresql", on_store);
  if (failed.lost()) {
    out.code = errc::store_unreachable;
  } else if (conflicts(failed)) {
    out.code = errc::write_conflict;
  } else if (is_any(failed, {"0A"})) {
    out.code = errc::invalid_argument;
  } else if (out.code == errc::store_unreachable &&
             !is_any(failed, {"08", "25006", "53", "55", "57"})) {
    out.code = errc::conflict;  // what was written can't be committed
  }
  return out;
}

claimed begin_and_claim(sql_transaction& transaction, const request& request, const claim& wanted,
                        const execute_policy& policy) {
  const patience until(policy);
  const auto statement = claim_text(request, wanted);
  for (unsigned met = 0;;) {
    try {
      transaction.begin(policy.isolation);
      auto got = read_claimed(transaction.run(statement), wanted);
      if (got.verdict.kind == verdict_kind::run) return got;
      transaction.roll_back();
      const auto left = until.left();
      if (got.verdict.kind != verdict_kind::busy || left.count() == 0) return got;
      if (got.locked) {
        wait_for_key(transaction, policy.isolation, request, left);
      } else {
        until.pause(got.verdict.retry_after);
      }
    } catch (const statement_failed& failed) {
      transaction.roll_back();
      if (!transaction.whole() || !conflicts(failed) || ++met > claim_conflicts_max) throw;
    }
  }
}

}  // namespace onceguard::postgres
