// The payments of the example servers that pay in a transaction of their own SQLite database.
#pragma once
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include <onceguard/http.hpp>

#include "../conformance/service.hpp"

namespace shop {

using database = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

/// Opens the file for one thread.
inline database open(const std::string& file) {
  sqlite3* opened = nullptr;
  const bool failed = sqlite3_open(file.c_str(), &opened) != SQLITE_OK;
  database out(opened, sqlite3_close);
  if (failed) throw std::runtime_error(sqlite3_errmsg(opened));
  sqlite3_busy_timeout(opened, 10'000);
  return out;
}

/// Runs a statement; the first column of its rows, a line each.
inline std::string run(sqlite3* payments, const char* sql, std::string_view parameter = {}) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(payments, sql, -1, &statement, nullptr);
  sqlite3_bind_text(statement, 1, parameter.data(), static_cast<int>(parameter.size()),
                    SQLITE_TRANSIENT);
  std::string out;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const auto* text = sqlite3_column_text(statement, 0);
    out.append(reinterpret_cast<const char*>(text)) += '\n';
  }
  if (sqlite3_finalize(statement) != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(payments));
  return out;
}

/// Makes the table, unless it is there.
inline void create(const std::string& file) {
  const auto payments = open(file);
  run(payments.get(), "PRAGMA journal_mode = WAL");
  run(payments.get(), "CREATE TABLE IF NOT EXISTS payments (id INTEGER PRIMARY KEY, what TEXT)");
}

/// The ordinary handler: POST makes a payment, everything else lists them.
inline onceguard::http::response handle(sqlite3* payments,
                                        const onceguard::http::request& message) {
  if (conformance::is_work(message.target)) return conformance::serve(message);
  if (message.target != "/payments") return {404, {}, ""};
  if (message.method != "POST") return {200, {}, run(payments, "SELECT what FROM payments")};
  if (message.body.empty()) return {400, {}, "what is to be paid?\n"};
  return {
      201, {}, run(payments, "INSERT INTO payments (what) VALUES (?) RETURNING id", message.body)};
}

}  // namespace shop
