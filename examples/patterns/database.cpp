#include "database.hpp"

#include <libpq-fe.h>

#include <sqlite3.h>

#include <onceguard/first_row_postgres.hpp>
#include <onceguard/first_row_sqlite.hpp>
#include <onceguard/postgres.hpp>

namespace patterns {
namespace {

/// What a constraint refused is thrown as `refused`.
template <class Act>
auto with_postgres(Act act) {
  try {
    return act();
  } catch (const onceguard::postgres::statement_failed& failed) {
    if (failed.sqlstate().starts_with("23")) throw refused(failed.what());
    throw;
  }
}

class postgres_database final : public database {
 public:
  explicit postgres_database(const std::string& url)
      : connection_(PQconnectdb(url.c_str()), PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    }
    PQsetNoticeProcessor(
        connection_.get(), [](void*, const char*) {}, nullptr);
  }

  [[nodiscard]] const char* identity() const noexcept override {
    return "integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY";
  }
  std::vector<row> run(const sql_statement& statement) override {
    return with_postgres([&] {
      std::vector<const char*> values;
      for (const auto& value : statement.parameters) {
        values.push_back(value ? value->c_str() : nullptr);
      }
      const std::unique_ptr<PGresult, decltype(&PQclear)> got(
          PQexecParams(connection_.get(), statement.text.c_str(), static_cast<int>(values.size()),
                       nullptr, values.data(), nullptr, nullptr, 0),
          PQclear);
      onceguard::postgres::check(connection_.get(), got.get());
      std::vector<row> out(static_cast<std::size_t>(PQntuples(got.get())));
      for (std::size_t i = 0; i < out.size(); ++i) {
        for (int column = 0; column < PQnfields(got.get()); ++column) {
          const int number = static_cast<int>(i);
          const bool null = PQgetisnull(got.get(), number, column) != 0;
          out[i].push_back(null ? sql_value() : PQgetvalue(got.get(), number, column));
        }
      }
      return out;
    });
  }
  first_row insert_once(const std::string& insert, const std::string& find,
                        const std::vector<sql_value>& parameters) override {
    return with_postgres([&] {
      return onceguard::postgres::insert_once(connection_.get(), insert, find, parameters);
    });
  }
  std::optional<first_row> change_once(const sql_statement& change,
                                       const sql_statement& find) override {
    return with_postgres(
        [&] { return onceguard::postgres::change_once(connection_.get(), change, find); });
  }

 private:
  [[nodiscard]] const char* begin() const noexcept override { return "BEGIN"; }

  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

template <class Act>
auto with_sqlite(Act act) {
  try {
    return act();
  } catch (const onceguard::sqlite::statement_failed& failed) {
    if ((failed.extended_code() & 0xff) == SQLITE_CONSTRAINT) throw refused(failed.what());
    throw;
  }
}

class sqlite_database final : public database {
 public:
  explicit sqlite_database(const std::string& file) : database_(nullptr, sqlite3_close) {
    sqlite3* opened = nullptr;
    const bool failed = sqlite3_open(file.c_str(), &opened) != SQLITE_OK;
    database_.reset(opened);
    if (failed) throw std::runtime_error(sqlite3_errmsg(opened));
    sqlite3_busy_timeout(opened, 30'000);
    run({"PRAGMA journal_mode = WAL"});
    run({"PRAGMA synchronous = FULL"});
  }

  [[nodiscard]] const char* identity() const noexcept override { return "INTEGER PRIMARY KEY"; }
  std::vector<row> run(const sql_statement& statement) override {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v2(database_.get(), statement.text.c_str(), -1, &made, nullptr) !=
        SQLITE_OK) {
      throw std::runtime_error(sqlite3_errmsg(database_.get()));
    }
    const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> running(made,
                                                                             sqlite3_finalize);
    for (std::size_t i = 0; i < statement.parameters.size(); ++i) {
      const auto& value = statement.parameters[i];
      const auto name = "$" + std::to_string(i + 1);
      sqlite3_bind_text(made, sqlite3_bind_parameter_index(made, name.c_str()),
                        value ? value->c_str() : nullptr, -1, SQLITE_TRANSIENT);
    }
    std::vector<row> out;
    int done = SQLITE_ROW;
    while ((done = sqlite3_step(made)) == SQLITE_ROW) {
      out.emplace_back();
      for (int column = 0; column < sqlite3_column_count(made); ++column) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(made, column));
        out.back().push_back(text == nullptr ? sql_value() : text);
      }
    }
    if ((done & 0xff) == SQLITE_CONSTRAINT) throw refused(sqlite3_errmsg(database_.get()));
    if (done != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(database_.get()));
    return out;
  }
  first_row insert_once(const std::string& insert, const std::string& find,
                        const std::vector<sql_value>& parameters) override {
    return with_sqlite(
        [&] { return onceguard::sqlite::insert_once(database_.get(), insert, find, parameters); });
  }
  std::optional<first_row> change_once(const sql_statement& change,
                                       const sql_statement& find) override {
    return with_sqlite(
        [&] { return onceguard::sqlite::change_once(database_.get(), change, find); });
  }

 private:
  [[nodiscard]] const char* begin() const noexcept override { return "BEGIN IMMEDIATE"; }

  std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database_;
};

}  // namespace

std::unique_ptr<database> database::open(const std::string& url) {
  constexpr std::string_view sqlite = "sqlite:";
  if (url.starts_with(sqlite)) return std::make_unique<sqlite_database>(url.substr(sqlite.size()));
  return std::make_unique<postgres_database>(url);
}

void database::in_transaction(const std::function<void()>& work) {
  run({begin()});
  try {
    work();
    run({"COMMIT"});
  } catch (...) {
    try {
      run({"ROLLBACK"});
    } catch (const std::exception&) {
      // The connection is lost, or the database has rolled back already: what `work` threw counts.
    }
    throw;
  }
}

}  // namespace patterns
