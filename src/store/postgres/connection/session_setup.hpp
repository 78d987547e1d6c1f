// What is sent around the statements: the set-up of a session, and the begin and the end of a
// transaction behind a pooler. Each function returns whether libpq took it.
#pragma once
#include <cstdint>
#include <libpq-fe.h>
#include <string>

#include <onceguard/record.hpp>

#include "libpq/binary_format.hpp"
#include "store/postgres/queries/known_memory.hpp"

namespace onceguard::postgres {

/// What the schema reports at the begin of a session.
struct greeting {
  std::int64_t schema_version = 0;
  std::int64_t minimum_version = 0;  ///< the oldest program that may still use it
  std::string identity;
  bool older = false;    ///< an older copy of what the process knows; the identity is a new one
  std::int64_t now = 0;  ///< the database's clock
};

/// For how long settings hold.
enum class validity : std::uint8_t { session, transaction };

/// Asks for the number of the server's process.
[[nodiscard]] bool send_process_question(PGconn* connection);
/// Durability, timeouts, and plans by the one index: the tables may be empty when a statement is
/// prepared. One row as its result.
[[nodiscard]] bool send_settings(PGconn* connection, milliseconds timeout, validity span);
[[nodiscard]] bool send_begin(PGconn* connection);
[[nodiscard]] bool send_commit(PGconn* connection);
[[nodiscard]] bool send_rollback(PGconn* connection);
[[nodiscard]] bool send_hello(PGconn* connection, const known_memory& known);
[[nodiscard]] greeting read_greeting(const rows& rows);
/// Each in a transaction of its own, with its Sync: the locks of all together could meet those of a
/// migration in another order.
[[nodiscard]] bool send_preparations(PGconn* connection);
[[nodiscard]] bool send_listen(PGconn* connection);
/// Writes a record into the write-ahead log, so that the transaction's commit waits for the
/// standby. One row as its result.
[[nodiscard]] bool send_marker(PGconn* connection);

}  // namespace onceguard::postgres
