// The outbox: a message leaves if and only if the PostgreSQL transaction commits that it was
// published in. `onceguard relay`, or a consumer, gets it afterwards, at least once, with the same
// id each time; an inbox at the far end makes that once (inbox.hpp). The table is a queue:
// docs/messages.md.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/broker.hpp>
#include <onceguard/error.hpp>

struct pg_conn;  // PGconn in libpq-fe.h

namespace onceguard::postgres {
inline namespace v1 {

/// One destination: a table of the caller's database, made by `onceguard migrate --outbox`.
/// Thread-safety: as for the connection, one thread at a time.
class outbox {
 public:
  /// `connection` must outlive the outbox. `table`: [SCHEMA.]TABLE, as it is written in the
  /// catalogue. Throws std::invalid_argument if a name is empty.
  outbox(pg_conn* connection, std::string_view table);

  /// Inserts the message in the transaction that is open on the connection: that of `execute`, of
  /// the inbox's handler, or the caller's own. The role needs INSERT and SELECT on the table.
  /// Blocks for one round trip.
  ///
  /// @return The message's id: its property `message_id`, or one that is given to it now.
  /// Errors:
  ///   errc::invalid_argument: the id is not of 1 to 255 bytes, and nothing was sent to the server;
  ///   or the table or a right is missing, or a text is no UTF-8, and the transaction has failed.
  ///   errc::conflict: no transaction is open, or it has failed, or the connection is busy; or the
  ///   server refused the row (a constraint, a trigger), and the transaction has failed.
  ///   errc::write_conflict: the same, because of another transaction: run it again.
  ///   errc::store_unreachable: the connection broke.
  [[nodiscard]] result<std::string> publish(const messaging::message& sent);

 private:
  pg_conn* connection_;
  std::string statement_;
};

}  // namespace v1
}  // namespace onceguard::postgres
