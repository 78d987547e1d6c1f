// The HTTP contract inside a transaction of the service's own SQLite database.
//
//   auto response = onceguard::sqlite::serve(middleware, database, request, [&] {
//     insert_payment(database, request.body);   // commits with the record, or not at all
//     return onceguard::http::response{201, {}, "paid"};
//   });
#pragma once
#include <onceguard/http_transaction.hpp>
#include <onceguard/sqlite.hpp>

namespace onceguard::sqlite {
inline namespace v1 {

/// As http::serve_in_transaction, in a transaction of `database`, which one thread at a time uses.
/// The middleware needs no guard.
[[nodiscard]] inline http::response serve(const http::middleware& middleware, sqlite3* database,
                                          const http::request& request,
                                          const callable<http::response()>& handler) {
  return http::serve_in_transaction(
      middleware, request,
      [database](const onceguard::request& wanted, const execute_policy& policy,
                 const effect_work& work) {
        http::require_no_transaction(has_open_transaction(database));
        return execute(database, wanted, policy, work);
      },
      handler);
}

}  // namespace v1
}  // namespace onceguard::sqlite
