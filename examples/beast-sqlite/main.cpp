// A payment server on Boost.Beast, exactly once: each POST runs in a transaction of the service's
// own SQLite database, which has the payment, the record of it and the answer, or nothing.
//
//   payments 8080 shop.db
//   curl -d 'EUR 20' -H 'Idempotency-Key: "order-17"' http://127.0.0.1:8080/payments
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include <boost/asio.hpp>
#include <boost/beast.hpp>
#include <sqlite3.h>

#include <onceguard/beast.hpp>
#include <onceguard/http_sqlite.hpp>

#include "../conformance/service.hpp"

namespace asio = boost::asio;
namespace beast = boost::beast;
using onceguard::http::request;
using onceguard::http::response;

thread_local sqlite3* shop = nullptr;  // of the connection that this thread serves

std::string run(const char* sql, std::string_view parameter = {}) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(shop, sql, -1, &statement, nullptr);
  sqlite3_bind_text(statement, 1, parameter.data(), static_cast<int>(parameter.size()),
                    SQLITE_TRANSIENT);
  std::string out;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const auto* text = sqlite3_column_text(statement, 0);
    out.append(reinterpret_cast<const char*>(text)) += '\n';
  }
  if (sqlite3_finalize(statement) != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(shop));
  return out;
}

void open_shop(const char* file) {
  if (sqlite3_open(file, &shop) != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(shop));
  sqlite3_busy_timeout(shop, 10'000);
}

response handle(const request& message) {
  if (conformance::is_work(message.target)) return conformance::serve(message);
  if (message.target != "/payments") return {404, {}, ""};
  if (message.method != "POST") return {200, {}, run("SELECT what FROM payments")};
  if (message.body.empty()) return {400, {}, "what is to be paid?\n"};
  return {201, {}, run("INSERT INTO payments (what) VALUES (?) RETURNING id", message.body)};
}

void serve(asio::ip::tcp::socket client, const char* file,
           const onceguard::http::middleware& middleware) {
  open_shop(file);
  beast::flat_buffer buffer;
  for (beast::error_code failed;;) {
    onceguard::beast::request_type message;
    beast::http::read(client, buffer, message, failed);
    if (failed) break;
    auto answer = onceguard::beast::served(message, [&](const request& one) -> response {
      try {
        return onceguard::sqlite::serve(middleware, shop, one, [&] { return handle(one); });
      } catch (const std::exception& thrown) {
        return {500, {}, thrown.what()};
      }
    });
    beast::write(client, std::move(answer), failed);
    if (failed) break;
  }
  sqlite3_close(shop);
}

int main(int count, char** words) {
  if (count != 3) return std::fputs("payments PORT FILE\n", stderr), 2;
  open_shop(words[2]);
  run("PRAGMA journal_mode = WAL");
  run("CREATE TABLE IF NOT EXISTS payments (id INTEGER PRIMARY KEY, what TEXT)");
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
