// The library calls: work that runs inside the caller's own database transaction, together with its
// record, so that both commit or neither does. This header has the types that the calls share; the
// calls are in postgres.hpp, pqxx.hpp and sqlite.hpp.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

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
using effect_work = std::function<answer(const lease&)>;

/// Work in several transactions. The record remembers which steps are done, and the result of each.
/// A later attempt continues after the last completed step. Use the object only on the thread that
/// it was passed to.
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
  /// An exception of `work` rolls back its step and is rethrown. An exception of `step` itself (the
  /// lease was superseded, the connection broke) ends the attempt: do not catch it.
  virtual std::string step(std::string_view name, const std::function<std::string()>& work) = 0;

  /// An idempotency key for a call to another service between two steps: the same in each attempt,
  /// different for each purpose. 64 hex digits.
  [[nodiscard]] virtual std::string key_for(std::string_view purpose) const = 0;

  /// The lease of this attempt.
  [[nodiscard]] virtual const lease& held() const noexcept = 0;
};

/// Returns the answer when all steps are done.
using steps_work = std::function<answer(steps&)>;

}  // namespace v1
}  // namespace onceguard
