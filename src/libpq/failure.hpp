// Failures, as libpq reports them.
#pragma once
#include <libpq-fe.h>
#include <string>

namespace onceguard::postgres {

struct failure {
  std::string sqlstate;  ///< empty: an error of libpq; the connection is gone or was never made
  std::string text;      ///< for a person; holds no password
  bool lost = false;     ///< the server ends the session, so a commit may still have happened
  bool set_up = false;   ///< libpq's own: a certificate or a password is missing or wrong
};

// A pooler that gives each statement another session: there are no transactions then. In the place
// of an SQLSTATE.
inline constexpr const char* statement_pooling = "pooling";

[[nodiscard]] failure failure_of(const PGresult* result);
[[nodiscard]] failure failure_of(const PGconn* connection);
/// Of a connection that is being made with PQERRORS_VERBOSE: only so does libpq say the SQLSTATE.
[[nodiscard]] failure failure_to_connect(const PGconn* connection);

/// PG_DIAG_…; empty: the result has no such field.
[[nodiscard]] std::string error_field(const PGresult* result, int code);
/// libpq's message as one line, without its trailing line break.
[[nodiscard]] std::string single_line(std::string text);

/// Whether the notice warns that the commit is durable here, but did not wait for a standby.
[[nodiscard]] bool standby_wait_cancelled(const PGresult* notice) noexcept;

}  // namespace onceguard::postgres
