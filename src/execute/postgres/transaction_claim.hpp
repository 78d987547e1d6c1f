// Gets a transaction in which `execute` holds the claim, and says what failures of it mean.
#pragma once
#include <cstdint>

#include <onceguard/error.hpp>
#include <onceguard/postgres.hpp>

#include "execute/postgres/sql_calls.hpp"

namespace onceguard::postgres {

/// The phase in which a statement failed.
enum class phase : std::uint8_t { claiming, working, committing };

/// True for a serialization failure or a deadlock.
[[nodiscard]] bool conflicts(const statement_failed& failed) noexcept;

/// True: the caller's own statement failed, and the failure is thrown on to the caller.
[[nodiscard]] bool is_callers(const statement_failed& failed, phase phase) noexcept;

[[nodiscard]] error to_error(const statement_failed& failed, effect on_store);

/// Of work that committed the transaction that it ran in: its effects and its claim are durable,
/// and the rest may not be.
[[nodiscard]] error ended_by_work();
/// Whether the failure says that the transaction of the work, or the part of it, is not there any
/// more.
[[nodiscard]] bool ended_before(const statement_failed& failed) noexcept;
/// Whether the work has committed its claim, although its last statement failed. Asks the database,
/// where that may have happened and the connection stands.
[[nodiscard]] bool was_committed(sql_transaction& transaction, const statement_failed& failed,
                                 const request& request, const claim& wanted) noexcept;

/// Rolls back at the end of a scope what was begun and not committed, also after an exception.
class bracket {
 public:
  explicit bracket(sql_transaction& transaction) noexcept : transaction_(transaction) {}
  bracket(const bracket&) = delete;
  bracket& operator=(const bracket&) = delete;
  ~bracket() { transaction_.roll_back(); }

 private:
  sql_transaction& transaction_;
};

/// Begins and claims, until the claim has its verdict. For kind `run` the transaction is left open.
/// Throws statement_failed.
[[nodiscard]] claimed begin_and_claim(sql_transaction& transaction, const request& request,
                                      const claim& wanted, const execute_policy& policy);

}  // namespace onceguard::postgres
