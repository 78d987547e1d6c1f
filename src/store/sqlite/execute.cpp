#include <onceguard/sqlite.hpp>

#include "store/sqlite/caller_transaction.hpp"

namespace onceguard::sqlite {
namespace {

constexpr std::size_t swept_along = 4;

settlement complete_of(const claim& asked, const verdict& told, const execute_policy& policy) {
  settlement out;
  out.id = asked.id;
  out.token = told.lease.token;
  out.claim_id = told.lease.claim_id;
  out.about = asked.about;
  out.answer = told.answer;
  out.retention = policy.retention;
  out.by_application = true;
  return out;
}

error ended_by_others() {
  return {errc::conflict, "execute: the transaction was ended while the work ran in it",
          effect::unknown};
}

std::optional<error> complete(caller_transaction& in, const claim& asked, const verdict& told,
                              const execute_policy& policy) {
  try {
    if (!in.open()) return ended_by_others();
    auto tables = in.tables();
    if (!tables) return tables.error();
    const auto done = (*tables)->settle(complete_of(asked, told, policy));
    if (!done) return done.error();
    if (done->outcome != settle_outcome::done) return ended_by_others();
    static_cast<void>((*tables)->sweep(swept_along));
  } catch (const failure& failed) {
    return rolled_back(failed);
  }
  return in.commit(patience(policy));
}

/// What is done in a transaction of its own, or as a part of the caller's.
template <class T, class Act>
result<T> in_transaction(sqlite3* borrowed, Act act) {
  connection on(borrowed);
  try {
    caller_transaction in(on);
    const patience until{execute_policy{}};
    if (!in.begin(until)) return rolled_back(failure(SQLITE_BUSY, "another process writes"));
    auto tables = in.tables();
    if (!tables) return tables.error();
    result<T> out = act(**tables);
    if (const auto failed = in.commit(until)) return *failed;
    return out;
  } catch (const failure& failed) {
    return rolled_back(failed);
  }
}

}  // namespace

result<void> prepare(sqlite3* on) {
  const auto done = in_transaction<bool>(on, [](caller_tables&) { return true; });
  if (!done) return done.error();
  return {};
}

result<std::size_t> sweep(sqlite3* on, std::size_t most) {
  return in_transaction<std::size_t>(on, [&](caller_tables& in) { return in.sweep(most); });
}

result<verdict> execute(sqlite3* borrowed, const request& what, const execute_policy& policy,
                        const effect_work& work) {
  if (const auto wrong = complaint(what, policy)) return *wrong;
  const auto asked = claim_of(what, policy, unknown_policy::hold);
  connection on(borrowed);
  caller_transaction in(on);
  auto got = begin_and_claim(on, in, asked, policy);
  if (!got) return got.error();
  auto& told = got->told;
  if (told.kind != verdict_kind::run) return std::move(told);
  told.answer = checked(work(told.lease));
  told.kept = answer_kept::full;
  if (const auto failed = complete(in, asked, told, policy)) return *failed;
  return std::move(told);
}

result<verdict> execute(sqlite3* on, const request& what, const effect_work& work) {
  return execute(on, what, execute_policy{}, work);
}

}  // namespace onceguard::sqlite
