// The inbox inside a SQLite transaction: the effect of a message and the record that it was handled
// commit together, in the caller's own database file. Acknowledge after the call.
#pragma once
#include <span>
#include <string>
#include <vector>

#include <onceguard/inbox.hpp>

struct sqlite3;

namespace onceguard::sqlite {
inline namespace v1 {

/// The messages of one subscriber. Thread-safety: as for the connection, one thread at a time.
class inbox {
 public:
  /// `database` must outlive the inbox; missing tables of onceguard are made. Throws
  /// std::invalid_argument for a policy whose members are not positive.
  inbox(sqlite3* database, std::string subscriber, inbox_policy policy = {});

  /// Handles each message of the batch once, in its order, all in one transaction (IMMEDIATE), with
  /// synchronous = FULL. Each message has a savepoint of its own, so that a handler that throws
  /// undoes its own message only. If a deferred constraint refuses the commit, or a handler throws
  /// when its statement has rolled the transaction back (ON CONFLICT ROLLBACK), the messages are
  /// handled again, each in a transaction of its own, and the guilty one has failed. `handler` uses
  /// the same connection, leaves the transaction open, and may run again for a message whose
  /// effects were rolled back. Blocks; waits for other writers for at most ten seconds.
  ///
  /// @return The outcome of each message, in their order; all of them are durable.
  /// Errors: nothing is known to be handled, and the messages are to be given back.
  ///   errc::write_conflict: others wrote, or read, for longer than the call waits.
  ///   errc::store_full, errc::store_unreachable: the disk. With effect::unknown, during COMMIT:
  ///   the next delivery finds out.
  ///   errc::conflict: the connection is in a transaction, or the transaction was ended while a
  ///   handler ran that did not throw (effect::unknown).
  ///   errc::record_unreadable, errc::invalid_argument: as for execute.
  [[nodiscard]] result<std::vector<inbox_outcome>> process(std::span<const inbox_message> batch,
                                                           const message_handler& handler);
  /// The same for one message.
  [[nodiscard]] result<inbox_outcome> process(const inbox_message& message,
                                              const message_handler& handler);

 private:
  sqlite3* database_;
  const std::string subscriber_;
  const inbox_policy policy_;
};

}  // namespace v1
}  // namespace onceguard::sqlite
