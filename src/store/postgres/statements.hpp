// The statements that a connection sends, and the setup of a session for them.
#pragma once
#include <cstdint>
#include <libpq-fe.h>
#include <string>
#include <string_view>

#include <onceguard/record.hpp>

#include "store/postgres/rows.hpp"

namespace onceguard::postgres {

/// What the schema reports at the begin of a session.
struct greeting {
  std::int64_t schema_version = 0;
  std::int64_t minimum_version = 0;  ///< the oldest program that may still use it
  std::string identity;
  Oid claim_item = 0;  ///< the numbers of its row types
  Oid settle_item = 0;
  Oid extend_item = 0;
  std::int64_t now = 0;          ///< the database's clock
  std::uint64_t generation = 0;  ///< only grows, unless this is an older copy
};

namespace statement {
inline constexpr const char* claim = "onceguard_claim";
inline constexpr const char* settle = "onceguard_settle";
inline constexpr const char* extend = "onceguard_extend";
inline constexpr const char* resolve = "onceguard_resolve";
inline constexpr const char* import_record = "onceguard_adopt";
inline constexpr const char* find = "onceguard_find";
inline constexpr const char* list = "onceguard_list";
inline constexpr const char* counts = "onceguard_counts";
inline constexpr const char* sweep = "onceguard_sweep";
inline constexpr const char* vitals = "onceguard_vitals";
inline constexpr const char* epoch = "onceguard_epoch";
inline constexpr const char* note = "onceguard_note";
inline constexpr const char* announce = "onceguard_announce";
}  // namespace statement

// Each of these functions gives a statement to libpq, in pipeline mode. False: libpq refused.

/// The result is the number of the server's process, which is another one than PQbackendPID() has
/// if a pooler stands between.
[[nodiscard]] bool send_process_question(PGconn* connection);

/// How long settings are in force. Behind a pooler the session belongs to other clients as well.
enum class validity : bool { transaction, session };
/// The settings that durable and bounded transactions need, whatever the role's defaults are, and
/// whatever another client left behind.
[[nodiscard]] bool send_settings(PGconn* connection, milliseconds timeout, validity span);
[[nodiscard]] bool send_begin(PGconn* connection);
[[nodiscard]] bool send_commit(PGconn* connection);
[[nodiscard]] bool send_rollback(PGconn* connection);
/// The result is a greeting. The first statement of a session, because it keeps tokens growing
/// after a failover.
[[nodiscard]] bool send_hello(PGconn* connection);
/// The part of send_hello() that keeps tokens growing. Behind a pooler the first statement of each
/// transaction, because the pooler can change the server unnoticed.
[[nodiscard]] bool send_failover_check(PGconn* connection);
[[nodiscard]] greeting read_greeting(const rows& answer);
/// From here on tokens begin at the clock, so that no token of a forgotten lease is granted again.
[[nodiscard]] bool send_raise_tokens(PGconn* connection);
/// Raises the tokens as well, and gives the database another identity.
[[nodiscard]] bool send_another_memory(PGconn* connection, const std::string& identity);
[[nodiscard]] bool send_preparations(PGconn* connection);
[[nodiscard]] bool send_listen(PGconn* connection);
/// The text of a statement of this list by the statement's name.
[[nodiscard]] const char* text_of(std::string_view name) noexcept;
/// Writes a record into the write-ahead log, so that the transaction's commit waits for the
/// standby.
[[nodiscard]] bool send_marker(PGconn* connection);

}  // namespace onceguard::postgres
