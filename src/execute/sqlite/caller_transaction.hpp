// A transaction on the caller's connection: a whole one that writes, or a part of the caller's.
#pragma once
#include <optional>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>

#include "execute/request.hpp"
#include "execute/sqlite/caller_tables.hpp"
#include "store/sqlite/connection.hpp"

namespace onceguard::sqlite {

/// The destructor rolls back what was begun and not committed. Failures of SQLite are thrown.
class caller_transaction {
 public:
  explicit caller_transaction(connection& connection)
      : connection_(connection), whole_(!connection.in_transaction()) {}
  caller_transaction(const caller_transaction&) = delete;
  caller_transaction& operator=(const caller_transaction&) = delete;
  ~caller_transaction() { roll_back(); }

  [[nodiscard]] bool whole() const noexcept { return whole_; }

  /// Begins to write; false: another connection writes.
  [[nodiscard]] bool try_begin();
  /// Tries until the patience is over.
  [[nodiscard]] bool begin(const patience& until);
  /// True: begun, and not ended since.
  [[nodiscard]] bool open() const noexcept { return begun_ && connection_.in_transaction(); }

  /// The tables, made if they are missing. Call it after the begin. errc::invalid_argument: a newer
  /// version made the tables.
  [[nodiscard]] result<caller_tables*> tables();

  /// Waits for readers that are in the way. Returns the failure, if any, with its effect: none, if
  /// the transaction is certainly rolled back.
  [[nodiscard]] std::optional<error> commit(const patience& until);
  void roll_back() noexcept;

 private:
  void flush_fully();
  void end() noexcept;

  connection& connection_;
  const bool whole_;
  bool begun_ = false;
  std::int64_t synchronous_ = -1;  // the caller's setting, to be restored; negative: unchanged
  std::optional<caller_tables> tables_;
};

/// The error for a failure before the commit, when nothing has been done.
[[nodiscard]] error rolled_back(const failure& failed);
/// The error for tables of a later version.
[[nodiscard]] error newer_tables();
/// So long a caller waits before it tries again to get the lock of a writer.
inline constexpr milliseconds lock_step{1};

}  // namespace onceguard::sqlite
