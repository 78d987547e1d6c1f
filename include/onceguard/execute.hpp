// The library call: work that runs inside the caller's own database transaction, together with
// its record, so that both commit or neither does. postgres.hpp, pqxx.hpp and sqlite.hpp have the
// calls; here is what they share.
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

namespace onceguard {

/// One operation that may arrive more than once. The same (scope_kind, scope, key) of another
/// process, or of `onceguard.claim` in SQL, is the same operation.
struct request {
  std::string scope;        ///< who the key belongs to: a key never crosses scopes
  std::string key;          ///< the idempotency key: 1 to 255 bytes
  std::string fingerprint;  ///< what else makes two requests the same; its SHA-256 is kept
  std::string scope_kind = "application";

  request(std::string of_scope, std::string with_key, std::string with_fingerprint = {})
      : scope(std::move(of_scope)),
        key(std::move(with_key)),
        fingerprint(std::move(with_fingerprint)) {}
};

/// Of the transactions that `execute` begins itself. SQLite has only serializable ones.
enum class isolation_level : std::uint8_t {
  as_session,  ///< whatever the connection's default is
  read_committed,
  repeatable_read,
  serializable,
};

struct execute_policy {
  /// While another transaction or lease has the key: `wait` for its end, for `wait` at most, or
  /// `reject`: be told `busy` at once.
  on_busy_rule on_busy = on_busy_rule::wait;
  milliseconds wait{10'000};
  milliseconds retention{24 * 3'600'000};  ///< of the answer, from its commit on
  /// execute_steps: how long a crash holds up the next attempt; the longest step, and what is done
  /// between two of them, should be over well before. Each step gives it its full length again.
  milliseconds lease{30'000};
  isolation_level isolation = isolation_level::as_session;
  /// How often a transaction that another one was in the way of (SQLSTATE class 40) is run again
  /// from its begin, where it is execute's own: the callable runs anew each time.
  unsigned conflict_retries = 0;
};

/// What runs once. It is told its lease (attempt and token); the answer that it returns commits
/// with what it wrote. An answer has a status from 100 to 999; without HTTP, take 200.
/// What it throws rolls all of it back, its claim too, and is thrown on.
using effect_work = std::function<answer(const lease&)>;

/// Work in several transactions. The record remembers which of them are done, and what each of
/// them gave; a later attempt goes on after the last one. Used by the thread that it was given to.
class steps {
 public:
  steps() = default;
  steps(const steps&) = delete;
  steps& operator=(const steps&) = delete;
  virtual ~steps() = default;

  /// Runs `work` in a transaction of its own, which commits together with the bytes that it
  /// returns and the mark that this step is done; where an earlier attempt did that, `work` does
  /// not run and those bytes are returned. The steps of one operation have different names, and
  /// are called in the same order in each attempt; std::logic_error says where they are not.
  /// What `work` throws rolls its step back and is thrown on. What `step` throws itself (the
  /// lease is another's, the connection broke) ends the attempt: let it pass.
  virtual std::string step(std::string_view name, const std::function<std::string()>& work) = 0;

  /// An idempotency key for a call to somebody else between two steps: the same in each attempt,
  /// another for each purpose. 64 hex digits.
  [[nodiscard]] virtual std::string key_for(std::string_view purpose) const = 0;

  [[nodiscard]] virtual const lease& held() const noexcept = 0;
};

/// Returns the answer once its steps are done.
using steps_work = std::function<answer(steps&)>;

}  // namespace onceguard
