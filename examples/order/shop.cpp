#include "shop.hpp"

#include <libpq-fe.h>
#include <stdexcept>

#include <sqlite3.h>

#include <onceguard/postgres.hpp>
#include <onceguard/sqlite.hpp>

namespace {

class sqlite_shop final : public shop {
 public:
  explicit sqlite_shop(const std::string& path) : database_(nullptr, sqlite3_close) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open(path.c_str(), &opened);
    database_.reset(opened);
    if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(opened));
    sqlite3_busy_timeout(opened, 10'000);
  }

  std::string run(const std::string& sql) override {
    sqlite3_stmt* prepared = nullptr;
    int code = sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &prepared, nullptr);
    const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement(prepared,
                                                                               sqlite3_finalize);
    std::string first;
    if (code == SQLITE_OK && (code = sqlite3_step(prepared)) == SQLITE_ROW) {
      if (const auto* value = sqlite3_column_text(prepared, 0)) {
        first = reinterpret_cast<const char*>(value);
      }
      while ((code = sqlite3_step(prepared)) == SQLITE_ROW) continue;
    }
    if (code != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(database_.get()));
    return first;
  }

  onceguard::result<onceguard::verdict> execute_steps(const onceguard::request& request,
                                                      const onceguard::execute_policy& policy,
                                                      const onceguard::steps_work& work) override {
    return onceguard::sqlite::execute_steps(database_.get(), request, policy, work);
  }

 private:
  std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database_;
};

class postgres_shop final : public shop {
 public:
  explicit postgres_shop(const std::string& url) : connection_(PQconnectdb(url.c_str()), PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    }
  }

  std::string run(const std::string& sql) override {
    const std::unique_ptr<PGresult, decltype(&PQclear)> reply(
        PQexec(connection_.get(), sql.c_str()), PQclear);
    onceguard::postgres::check(connection_.get(), reply.get());
    return PQntuples(reply.get()) == 0 ? "" : PQgetvalue(reply.get(), 0, 0);
  }

  onceguard::result<onceguard::verdict> execute_steps(const onceguard::request& request,
                                                      const onceguard::execute_policy& policy,
                                                      const onceguard::steps_work& work) override {
    return onceguard::postgres::execute_steps(connection_.get(), request, policy, work);
  }

 private:
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

}  // namespace

std::unique_ptr<shop> open_shop(const std::string& database) {
  if (database.starts_with("postgresql://")) return std::make_unique<postgres_shop>(database);
  return std::make_unique<sqlite_shop>(database);
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}
