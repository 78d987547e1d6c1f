// The library calls: work that runs inside the caller's own database transaction, together with its
// record, so that both commit or neither does. This header has the types that the calls share; the
// calls are in postgres.hpp, pqxx.hpp and sqlite.hpp.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <onceguard/callable.hpp>
#include <onceguard/configuration.hpp>
#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>
#include <onceguard/policy.hpp>
#include <onceguard/record.hpp>
#include <onceguard/request.hpp>

namespace onceguard {
inline namespace v1 {

/// The isolation level of the transactions that `execute` begins itself. SQLite has only
/// serializable transactions.
enum class isolation_level : std::uint8_t {
  as_session,  ///< whatever the connection's default is
  read_committed,
  repeatable_read,
  serializable,
};

/// How execute and execute_steps treat an operation.
struct execute_policy {
  /// If another transaction or lease has the key: `wait` waits for its end, for at most the
  /// duration `wait`; `reject` returns `busy` at once.
  on_busy_rule on_busy = on_busy_rule::wait;
  /// The longest wait for the other holder of the key.
  milliseconds wait{10'000};
  /// Retention of the answer, counted from its commit.
  milliseconds retention{24 * 3'600'000};
  /// execute_steps: how long a crash delays the next attempt. The longest step, and the work
  /// between two steps, should take much less time. Each step gives the lease its full length
  /// again.
  milliseconds lease{30'000};
  /// Of transactions of its own.
  isolation_level isolation = isolation_level::as_session;
  /// How often a transaction that conflicted with another one (SQLSTATE class 40) is run again from
  /// its begin, if execute began the transaction itself. The callable runs anew each time.
  unsigned conflict_retries = 0;
};

/// The work that runs once. Its parameter is the lease (attempt and token). The returned answer
/// commits together with the data that the work wrote. The answer has a status from 100 to 999;
/// without HTTP, use 200.
/// An exception rolls back the whole transaction, including the claim, and is rethrown.
using effect_work = callable<answer(const lease&)>;

/// Undoes the effect of a completed step, whose stored result it gets. See steps::step.
using compensation_work = callable<void(const std::string& stored)>;

/// Work in several transactions: a saga (Garcia-Molina and Salem, "Sagas", SIGMOD 1987). The record
/// remembers which steps are done, and the result of each. A later attempt continues after the last
/// completed step. If the work can't be finished, the completed steps are compensated, in reverse
/// order: either all steps take effect, or each completed step and then its compensation. Others
/// see the effects of the steps in between. Use the object only on the thread that it was passed
/// to.
class steps {
 public:
  steps() = default;
  steps(const steps&) = delete;
  steps& operator=(const steps&) = delete;
  virtual ~steps() = default;

  /// Runs `work` in its own transaction, which commits together with the returned bytes and the
  /// mark that this step is done. If an earlier attempt completed this step, `work` does not run
  /// and the stored bytes are returned. The steps of one operation have different names and are
  /// called in the same order in each attempt; otherwise std::logic_error is thrown.
  /// An exception of `work` rolls back its step and is rethrown: the next attempt runs the step
  /// again. An exception of `step` itself (the lease was superseded, the connection broke, the
  /// operation was compensated) ends the attempt: do not catch it.
  ///
  /// `compensation` undoes the completed step after `fail`: in its own transaction, which commits
  /// together with the mark that the step is compensated, so it takes effect exactly once. Give it
  /// to each step whose effect must not stay. It runs within a call of `fail` or `step`, in this
  /// attempt or in a later one, so what it refers to must outlive the other calls of the work. It
  /// may not fail for good: if it throws, the attempt ends, and the next attempt runs it again.
  virtual std::string step(std::string_view name, const callable<std::string()>& work,
                           const compensation_work& compensation = {}) = 0;

  /// The work can't be finished, and another attempt could not finish it either (the card is
  /// declined, nothing is in stock). Call it between steps or in the work of a step, which is then
  /// rolled back. Stores `reply` durably; from then on no attempt goes forward again, and a later
  /// one goes on compensating. After the last compensation `reply` is the answer of the operation,
  /// for this call and for each repeat. A status from 200 to 999.
  /// Does not return: throws an exception, which must reach execute_steps. std::logic_error: called
  /// in a compensation, or before all steps that an earlier attempt completed were called again.
  [[noreturn]] void fail(answer reply) {
    on_failure(std::move(reply));
    throw std::logic_error("steps: on_failure returned");
  }

  /// An idempotency key for a call to another service: the same in each attempt, different for each
  /// purpose. 64 hex digits.
  [[nodiscard]] virtual std::string key_for(std::string_view purpose) const = 0;

  /// The lease of this attempt.
  [[nodiscard]] virtual const lease& held() const noexcept = 0;

 protected:
  /// What fail() does. Always throws.
  virtual void on_failure(answer reply) = 0;
};

/// Returns the answer when all steps are done. The code between two steps may run again in each
/// attempt, also in one that compensates the steps after it.
using steps_work = callable<answer(steps&)>;

}  // namespace v1
}  // namespace onceguard
