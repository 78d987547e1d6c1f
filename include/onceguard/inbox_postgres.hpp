// The inbox inside a PostgreSQL transaction: the effect of a message and the record that it was
// handled commit together. Acknowledge after the call. The database must have the schema of
// `onceguard migrate`, and the role must be in onceguard_app.
#pragma once
#include <span>
#include <string>
#include <vector>

#include <onceguard/inbox.hpp>

struct pg_conn;  // PGconn in libpq-fe.h

namespace onceguard::postgres {
inline namespace v1 {

/// The messages of one subscriber. Thread-safety: as for the connection, one thread at a time.
class inbox {
 public:
  /// `connection` must outlive the inbox. Throws std::invalid_argument for a policy whose members
  /// are not positive.
  inbox(pg_conn* connection, std::string subscriber, inbox_policy policy = {});

  /// Handles each message of the batch once, in its order, all in one transaction: one COMMIT in
  /// all, with synchronous_commit on. Each message has a savepoint of its own, so that a handler
  /// that throws, or whose statement fails, undoes its own message only. If the transaction
  /// conflicts with another one, or its COMMIT is refused, the messages are handled again, each in
  /// a transaction of its own. `handler` uses the same connection, leaves the transaction open, and
  /// may run again for a message whose effects were rolled back. Blocks.
  ///
  /// @return The outcome of each message, in their order; all of them are durable.
  /// Errors: nothing is known to be handled, and the messages are to be given back.
  ///   errc::store_unreachable: the connection broke, or was idle for longer than the policy's
  ///   lease within the handler. With effect::unknown, during COMMIT: the next delivery finds out.
  ///   errc::conflict: the connection is in a transaction or busy, or the handler ended the
  ///   transaction (effect::unknown).
  ///   errc::invalid_argument: the schema or the rights are not as required.
  ///   errc::record_unreadable: a record is damaged or was written by a newer version.
  [[nodiscard]] result<std::vector<inbox_outcome>> process(std::span<const inbox_message> batch,
                                                           const message_handler& handler);
  /// The same for one message.
  [[nodiscard]] result<inbox_outcome> process(const inbox_message& message,
                                              const message_handler& handler);

 private:
  pg_conn* connection_;
  const std::string subscriber_;
  const inbox_policy policy_;
};

}  // namespace v1
}  // namespace onceguard::postgres
