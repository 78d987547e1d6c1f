// The HTTP contract inside the service's own database transaction: exactly once, in an ordinary
// handler. onceguard/http_sqlite.hpp and onceguard/http_postgres.hpp have it for a connection.
#pragma once
#include <functional>

#include <onceguard/execute.hpp>
#include <onceguard/http.hpp>

namespace onceguard::http {
inline namespace v1 {

/// sqlite::execute or postgres::execute, with its connection.
using execute_call = std::function<result<verdict>(const onceguard::request&, const execute_policy&,
                                                   const effect_work&)>;

/// Throws std::logic_error if the connection is in a transaction that somebody else began: the
/// answer would go out before its COMMIT.
void require_no_transaction(bool open);

/// Serves a request whose handler runs in the transaction that `execute` begins; blocks. The answer
/// goes out after COMMIT; std::logic_error if the connection is in a transaction already. An answer
/// whose status does not complete the operation (4xx and 5xx, unless the route says otherwise)
/// rolls the transaction back and goes out, and the key is free; so does an exception, which is
/// rethrown. A crash at any instruction leaves nothing. A request that is not guarded gets its
/// handler without a transaction. Answers are kept whole, whatever max_answer_body says. Records
/// are those of the database: previous_scope, unknown, probe, keep_set_cookie of a former answer,
/// and store_failure = open do not apply. errc of the database: 503 while another try can help, 500
/// where the commit was refused.
[[nodiscard]] response serve_in_transaction(const middleware& middleware, const request& request,
                                            const execute_call& execute,
                                            const callable<response()>& handler);

}  // namespace v1
}  // namespace onceguard::http
