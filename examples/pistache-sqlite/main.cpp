// A payment server on Pistache, exactly once: each POST runs in a transaction of the service's own
// SQLite database, which has the payment, the record of it and the answer, or nothing.
//
//   payments 8080 shop.db
//   curl -d 'EUR 20' -H 'Idempotency-Key: "order-17"' http://127.0.0.1:8080/payments
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <onceguard/http_sqlite.hpp>
#include <onceguard/pistache.hpp>

#include "../shop/shop.hpp"

using onceguard::http::request;
using onceguard::http::response;
namespace routes = Pistache::Rest::Routes;

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
  Pistache::Rest::Router router;
  const auto handler = [&](Pistache::Rest::Request message, Pistache::Http::ResponseWriter writer) {
    return onceguard::pistache::served(std::move(message), std::move(writer), serve);
  };
  for (const auto* path :
       {"/payments", "/conformance", "/conformance/:name", "/conformance/runs/:name"}) {
    for (const auto add :
         {routes::Get, routes::Head, routes::Post, routes::Put, routes::Patch, routes::Delete}) {
      add(router, path, handler);
    }
  }
  const auto port = static_cast<std::uint16_t>(std::atoi(words[1]));
  Pistache::Http::Endpoint endpoint({Pistache::Ipv4::loopback(), port});
  endpoint.init(
      Pistache::Http::Endpoint::options()
          .threads(64)  // a connection waits for the others of its thread: its descriptor modulo 64
          .flags(Pistache::Tcp::Options::ReuseAddr)
          .maxRequestSize(1 << 20));
  endpoint.setHandler(onceguard::pistache::handler(router.handler()));
  endpoint.serve();
}
