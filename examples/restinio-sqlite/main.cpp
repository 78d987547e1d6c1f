// A payment server on RESTinio, exactly once: each POST runs in a transaction of the service's own
// SQLite database, which has the payment, the record of it and the answer, or nothing.
//
//   payments 8080 shop.db
//   curl -d 'EUR 20' -H 'Idempotency-Key: "order-17"' http://127.0.0.1:8080/payments
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <restinio/all.hpp>
#include <stdexcept>
#include <string>

#include <sqlite3.h>

#include <onceguard/http_sqlite.hpp>
#include <onceguard/restinio.hpp>

#include "../conformance/service.hpp"

using onceguard::http::request;
using onceguard::http::response;

using shop_handle = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

shop_handle open_shop(const char* file) {
  sqlite3* opened = nullptr;
  const bool failed = sqlite3_open(file, &opened) != SQLITE_OK;
  shop_handle shop(opened, sqlite3_close);
  if (failed) throw std::runtime_error(sqlite3_errmsg(opened));
  sqlite3_busy_timeout(opened, 10'000);
  return shop;
}

std::string run(sqlite3* shop, const char* sql, std::string_view parameter = {}) {
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

response handle(sqlite3* shop, const request& message) {
  if (conformance::is_work(message.target)) return conformance::serve(message);
  if (message.target != "/payments") return {404, {}, ""};
  if (message.method != "POST") return {200, {}, run(shop, "SELECT what FROM payments")};
  if (message.body.empty()) return {400, {}, "what is to be paid?\n"};
  return {201, {}, run(shop, "INSERT INTO payments (what) VALUES (?) RETURNING id", message.body)};
}

int main(int count, char** words) {
  if (count != 3) return std::fputs("payments PORT FILE\n", stderr), 2;
  const auto shop = open_shop(words[2]);
  run(shop.get(), "PRAGMA journal_mode = WAL");
  run(shop.get(), "CREATE TABLE IF NOT EXISTS payments (id INTEGER PRIMARY KEY, what TEXT)");
  const auto middleware = onceguard::http::middleware::make(conformance::params()).value();
  const auto serve = [&](const request& message) -> response {
    thread_local const auto shop = open_shop(words[2]);
    try {
      return onceguard::sqlite::serve(middleware, shop.get(), message,
                                      [&] { return handle(shop.get(), message); });
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
