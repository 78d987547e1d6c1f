// A payment server on cpp-httplib, exactly once: each POST runs in a transaction of the service's
// own SQLite database, which has the payment, the record of it and the answer, or nothing.
//
//   payments 8080 shop.db
//   curl -d 'EUR 20' -H 'Idempotency-Key: "order-17"' http://127.0.0.1:8080/payments
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <onceguard/http_sqlite.hpp>
#include <onceguard/httplib.hpp>

#include "../httplib/reuse_address.hpp"
#include "../shop/shop.hpp"

using onceguard::http::request;
using onceguard::http::response;

int main(int count, char** words) {
  if (count != 3) return std::fputs("payments PORT FILE\n", stderr), 2;
  shop::create(words[2]);
  const auto middleware = onceguard::http::middleware::make(conformance::params()).value();
  const auto serve = [&](const request& message) -> response {
    thread_local const auto payments = shop::open(words[2]);
    try {
      return onceguard::sqlite::serve(middleware, payments.get(), message,
                                      [&] { return shop::handle(payments.get(), message); });
    } catch (const std::exception& thrown) {
      return {500, {}, thrown.what()};
    }
  };
  const auto handler = [&](const httplib::Request& message, httplib::Response& answer) {
    onceguard::httplib::served(message, answer, serve);
  };
  httplib::Server server;
  reuse_address(server);
  server.new_task_queue = [] { return new httplib::ThreadPool(64); };  // one for each connection
  server.set_keep_alive_timeout(60);
  server.Get(".*", handler).Post(".*", handler).Put(".*", handler);
  server.Patch(".*", handler).Delete(".*", handler);
  if (server.listen("127.0.0.1", std::atoi(words[1]))) return 0;
  return std::fprintf(stderr, "cannot listen on port %s\n", words[1]), 1;
}
