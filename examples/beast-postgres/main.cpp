// A payment server on Boost.Beast, exactly once: each POST runs in a transaction of the service's
// own PostgreSQL database, which has the payment, the record of it and the answer, or nothing.
//
//   onceguard migrate --store postgresql://localhost/shop
//   psql shop -c 'CREATE TABLE payments (id serial PRIMARY KEY, what text)'
//   payments 8080 postgresql://localhost/shop
//   curl -d 'EUR 20' -H 'Idempotency-Key: "order-17"' http://127.0.0.1:8080/payments
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <libpq-fe.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <boost/asio.hpp>
#include <boost/beast.hpp>

#include <onceguard/beast.hpp>
#include <onceguard/http_postgres.hpp>

#include "../conformance/service.hpp"

namespace asio = boost::asio;
namespace beast = boost::beast;
using onceguard::http::request;
using onceguard::http::response;

thread_local PGconn* shop = nullptr;  // of the connection that this thread serves

std::string run(const char* sql, const std::string& parameter = {}) {
  const char* values[] = {parameter.c_str()};
  const int count = parameter.empty() ? 0 : 1;
  const std::unique_ptr<PGresult, decltype(&PQclear)> got(
      PQexecParams(shop, sql, count, nullptr, values, nullptr, nullptr, 0), PQclear);
  onceguard::postgres::check(shop, got.get());
  std::string out;
  for (int row = 0; row < PQntuples(got.get()); ++row) {
    out.append(PQgetvalue(got.get(), row, 0)) += '\n';
  }
  return out;
}

response handle(const request& message) {
  if (conformance::is_work(message.target)) return conformance::serve(message);
  if (message.target != "/payments") return {404, {}, ""};
  if (message.method != "POST") return {200, {}, run("SELECT what FROM payments")};
  if (message.body.empty()) return {400, {}, "what is to be paid?\n"};
  return {201,
          {},
          run("INSERT INTO payments (what) VALUES ($1) RETURNING id", std::string(message.body))};
}

void serve(asio::ip::tcp::socket client, const char* url,
           const onceguard::http::middleware& middleware) {
  shop = PQconnectdb(url);
  beast::flat_buffer buffer;
  for (beast::error_code failed;;) {
    onceguard::beast::request_type message;
    beast::http::read(client, buffer, message, failed);
    if (failed) break;
    auto answer = onceguard::beast::served(message, [&](const request& one) -> response {
      try {
        return onceguard::postgres::serve(middleware, shop, one, [&] { return handle(one); });
      } catch (const std::exception& thrown) {
        return {500, {}, thrown.what()};
      }
    });
    beast::write(client, std::move(answer), failed);
    if (failed) break;
  }
  PQfinish(shop);
}

int main(int count, char** words) {
  if (count != 3) return std::fputs("payments PORT URL\n", stderr), 2;
  const auto middleware = onceguard::http::middleware::make(conformance::params()).value();
  asio::io_context io(1);
  const auto port = static_cast<unsigned short>(std::atoi(words[1]));
  asio::ip::tcp::acceptor acceptor(io, {asio::ip::make_address("127.0.0.1"), port});
  asio::thread_pool workers(32);
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
