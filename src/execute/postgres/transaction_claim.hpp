// How `execute` comes to a transaction in which it holds the claim, and what its failures mean.
#pragma once
#include <cstdint>

#include <onceguard/error.hpp>
#include <onceguard/postgres.hpp>

#include "execute/postgres/call_text.hpp"

namespace onceguard::postgres {

/// What was under way when a statement failed.
enum class phase : std::uint8_t { claiming, working, committing };

/// A serialization failure or a deadlock.
[[nodiscard]] bool conflicts(const statement_failed& failed) noexcept;

/// Is it the caller's own, to be thrown on?
[[nodiscard]] bool is_callers(const statement_failed& failed, phase phase) noexcept;

[[nodiscard]] error to_error(const statement_failed& failed, effect on_store);

/// Whatever way its scope is left: what is begun, and not committed, is rolled back.
class bracket {
 public:
  explicit bracket(sql_transaction& transaction) noexcept : in_(transaction) {}
  bracket(const bracket&) = delete;
  bracket& operator=(const bracket&) = delete;
  ~bracket() { in_.roll_back(); }

 private:
  sql_transaction& in_;
};

/// Begins and claims, until it is known what becomes of the claim. Kind `run`: the transaction is
/// left open. Throws statement_failed.
[[nodiscard]] claimed begin_and_claim(sql_transaction& transaction, const claim& request,
                                      const execute_policy& policy);

}  // namespace onceguard::postgres
