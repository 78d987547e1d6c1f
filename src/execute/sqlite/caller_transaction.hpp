// A transaction on the caller's connection: a whole one that writes, or a part of the caller's.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>

#include "execute/request.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/metadata.hpp"
#include "store/sqlite/record_table.hpp"
#include "store/sqlite/transaction.hpp"

namespace onceguard::sqlite {

// The records inside the caller's own database, for the length of one transaction.

/// The reply to a claim.
struct claimed {
  onceguard::verdict verdict;
  std::string progress;  ///< for `run`: how far the work has come
  bool locked = false;   ///< another connection writes to the database (the verdict is busy)
};

/// The tables must exist. Failures of SQLite are thrown.
class caller_tables {
 public:
  explicit caller_tables(connection& connection);

  /// The verdict that the claim would get. Writes nothing; a transaction that reads is enough.
  [[nodiscard]] result<verdict> peek(const claim& request);

  // The functions below need a transaction that writes.
  [[nodiscard]] result<claimed> take(const claim& request);
  [[nodiscard]] result<settled> settle(const settlement& request);
  /// False: the lease has been superseded.
  [[nodiscard]] result<bool> save_progress(const extension& request, std::string_view step,
                                           std::string_view progress);
  [[nodiscard]] std::size_t sweep(std::size_t most);

 private:
  [[nodiscard]] transaction begin();
  [[nodiscard]] std::string progress_of(const record_id& id);

  connection& connection_;
  metadata_table metadata_;
  record_table table_;
};

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

/// Claims in a transaction. For kind `run` the transaction is left open; else nothing was written.
[[nodiscard]] result<claimed> begin_and_claim(connection& connection,
                                              caller_transaction& transaction, const claim& request,
                                              const execute_policy& policy);

}  // namespace onceguard::sqlite
