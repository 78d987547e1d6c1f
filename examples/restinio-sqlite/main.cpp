// A payment server on RESTinio, exactly once: each POST runs in a transaction of the service's own
// SQLite database, which has the payment, the record of it and the answer, or nothing.
//
//   payments 8080 shop.db
//   curl -d 'EUR 20' -H 'Idempotency-Key: "order-17"' http://127.0.0.1:8080/payments
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <restinio/all.hpp>

#include <onceguard/http_sqlite.hpp>
#include <onceguard/restinio.hpp>

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
  restinio::run(restinio::on_thread_pool(32)
                    .address("127.0.0.1")
                    .port(static_cast<std::uint16_t>(std::atoi(words[1])))
                    .request_handler([&](const restinio::request_handle_t& message) {
                      return onceguard::restinio::served(message, serve);
                    }));
}
