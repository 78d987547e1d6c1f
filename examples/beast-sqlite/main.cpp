// A payment server on Boost.Beast, exactly once: each POST runs in a transaction of the service's
// own SQLite database, which has the payment, the record of it and the answer, or nothing.
//
//   payments 8080 shop.db
//   curl -d 'EUR 20' -H 'Idempotency-Key: "order-17"' http://127.0.0.1:8080/payments
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include <boost/asio.hpp>
#include <boost/beast.hpp>

#include <onceguard/beast.hpp>
#include <onceguard/http_sqlite.hpp>

#include "../shop/shop.hpp"

namespace asio = boost::asio;
namespace beast = boost::beast;
using onceguard::http::request;
using onceguard::http::response;

void serve(asio::ip::tcp::socket client, const char* file,
           const onceguard::http::middleware& middleware) {
  const auto payments = shop::open(file);
  beast::flat_buffer buffer;
  for (beast::error_code failed;;) {
    onceguard::beast::request_type message;
    beast::http::read(client, buffer, message, failed);
    if (failed) break;
    auto answer = onceguard::beast::served(message, [&](const request& one) -> response {
      try {
        return onceguard::sqlite::serve(middleware, payments.get(), one,
                                        [&] { return shop::handle(payments.get(), one); });
      } catch (const std::exception& thrown) {
        return {500, {}, thrown.what()};
      }
    });
    beast::write(client, std::move(answer), failed);
    if (failed) break;
  }
}

int main(int count, char** words) {
  if (count != 3) return std::fputs("payments PORT FILE\n", stderr), 2;
  shop::create(words[2]);
  const auto middleware = onceguard::http::middleware::make(conformance::params()).value();
  asio::io_context io(1);
  const auto port = static_cast<unsigned short>(std::atoi(words[1]));
  asio::ip::tcp::acceptor acceptor(io, {asio::ip::make_address("127.0.0.1"), port});
  asio::thread_pool workers(64);
  for (beast::error_code failed;;) {
    auto client = acceptor.accept(failed);
    if (failed) {  // no descriptor is left: clients that leave give theirs back
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      continue;
    }
    asio::post(workers, [&, client = std::move(client)]() mutable {
      serve(std::move(client), words[2], middleware);
    });
  }
}
