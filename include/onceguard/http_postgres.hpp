// The HTTP contract inside a transaction of the service's own PostgreSQL database.
//
//   auto response = onceguard::postgres::serve(middleware, connection, request, [&] {
//     insert_payment(connection, request.body);   // commits with the record, or not at all
//     return onceguard::http::response{201, {}, "paid"};
//   });
#pragma once
#include <onceguard/http_transaction.hpp>
#include <onceguard/postgres.hpp>

namespace onceguard::postgres {
inline namespace v1 {

/// As http::serve_in_transaction, in a transaction of `connection`, a PGconn*, which one thread at
/// a time uses. The middleware needs no guard.
[[nodiscard]] inline http::response serve(const http::middleware& middleware, pg_conn* connection,
                                          const http::request& request,
                                          const callable<http::response()>& handler) {
  return http::serve_in_transaction(
      middleware, request,
      [connection](const onceguard::request& wanted, const execute_policy& policy,
                   const effect_work& work) {
        http::require_no_transaction(has_open_transaction(connection));
        return execute(connection, wanted, policy, work);
      },
      handler);
}

}  // namespace v1
}  // namespace onceguard::postgres
