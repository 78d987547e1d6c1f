// A transaction on the caller's libpq connection in which several messages are handled, each within
// a savepoint. What can go together goes in one round trip.
#pragma once
#include <libpq-fe.h>
#include <string>
#include <vector>

#include <onceguard/postgres.hpp>
#include <onceguard/record.hpp>

namespace onceguard::postgres {

/// Failures are thrown as statement_failed. The destructor rolls back what was not committed.
class batch_transaction {
 public:
  explicit batch_transaction(PGconn* connection) noexcept : connection_(connection) {}
  batch_transaction(const batch_transaction&) = delete;
  batch_transaction& operator=(const batch_transaction&) = delete;
  ~batch_transaction();

  /// Begins, runs the statement, and sets the first savepoint. Returns the rows of the statement.
  /// If this process then sends nothing for longer than `idle_max`, the server ends the
  /// transaction: a frozen consumer must not keep its messages from others.
  [[nodiscard]] std::vector<sql_transaction::row> begin(const std::string& statement,
                                                        milliseconds idle_max);
  /// Keeps what was done since the last savepoint, and sets the next one.
  void next_message();
  /// Undoes what was done since the last savepoint.
  void undo_message();
  /// Runs the statements, each with its semicolon, and commits.
  void commit(const std::string& statements);

  /// Throws if the connection broke.
  void check_connection() const;
  /// Begun, and not ended since, neither by this object nor by the handler.
  [[nodiscard]] bool open() const noexcept;
  /// A statement has failed since the last savepoint.
  [[nodiscard]] bool failed() const noexcept;

 private:
  std::vector<sql_transaction::row> send(const std::string& text);

  PGconn* const connection_;
  bool begun_ = false;
  bool fresh_savepoint_ = false;
};

}  // namespace onceguard::postgres
