// A transaction on the caller's connection: a whole one that writes, or a part of the caller's.
#pragma once
#include <optional>

#include <onceguard/error.hpp>

#include "execute/request.hpp"
#include "execute/sqlite/caller_tables.hpp"
#include "store/sqlite/connection.hpp"

namespace onceguard::sqlite {

/// What is begun, and not committed, is rolled back at the end. Failures of SQLite are thrown.
class caller_transaction {
 public:
  explicit caller_transaction(connection& connection)
      : on_(connection), whole_(!connection.in_transaction()) {}
  caller_transaction(const caller_transaction&) = delete;
  caller_transaction& operator=(const caller_transaction&) = delete;
  ~caller_transaction() { roll_back(); }

  [[nodiscard]] bool whole() const noexcept { return whole_; }

  /// Begins to write; false: somebody else does.
  [[nodiscard]] bool try_begin();
  /// Tries until the patience is over.
  [[nodiscard]] bool begin(const patience& until);
  /// Begun, and nobody has ended it since?
  [[nodiscard]] bool open() const noexcept { return begun_ && on_.in_transaction(); }

  /// The tables, made where they are missing. Once begun. errc::invalid_argument: a newer
  /// version's.
  [[nodiscard]] result<caller_tables*> tables();

  /// Waits for those who read where they are in the way. What is known of it after a failure:
  /// none, where it is provably undone.
  [[nodiscard]] std::optional<error> commit(const patience& until);
  void roll_back() noexcept;

 private:
  void flush_fully();
  void end() noexcept;

  connection& on_;
  const bool whole_;
  bool begun_ = false;
  std::int64_t synchronous_ = -1;  // as the caller had it; negative: as it is
  std::optional<caller_tables> tables_;
};

/// What a failure before the commit means: nothing was done.
[[nodiscard]] error rolled_back(const failure& failed);

/// Claims in a transaction that is then left open for kind `run`; else nothing was written.
[[nodiscard]] result<claimed> begin_and_claim(connection& connection,
                                              caller_transaction& transaction, const claim& request,
                                              const execute_policy& policy);

}  // namespace onceguard::sqlite
