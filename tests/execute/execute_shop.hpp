// A shop that charges customers through `execute`: its own tables, and the records among them.
// One for each client library, so that one suite runs on all.
#pragma once
#include <libpq-fe.h>
#include <memory>
#include <optional>
#include <ostream>
#include <pqxx/pqxx>
#include <stdexcept>
#include <string>

#include <sqlite3.h>

#include <onceguard/postgres.hpp>
#include <onceguard/pqxx.hpp>
#include <onceguard/sqlite.hpp>

#include "store/postgres/database.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {

/// One connection, used by one thread.
class till {
 public:
  till() = default;
  till(const till&) = delete;
  till& operator=(const till&) = delete;
  virtual ~till() = default;

  virtual result<verdict> execute(const request& request, const execute_policy& policy,
                                  const effect_work& work) = 0;
  virtual result<verdict> execute_steps(const request& request, const execute_policy& policy,
                                        const steps_work& work) = 0;
  /// Writes, within the transaction that is open.
  virtual void charge(const std::string& customer) = 0;
  /// A transaction of the caller's, in which the charges were looked at.
  virtual void begin_and_read(const std::string& level) = 0;
  virtual void commit() = 0;
  virtual void roll_back() = 0;
};

class shop {
 public:
  shop() = default;
  shop(const shop&) = delete;
  shop& operator=(const shop&) = delete;
  virtual ~shop() = default;
  [[nodiscard]] virtual std::unique_ptr<till> open() = 0;
  [[nodiscard]] virtual int charges(const std::string& customer) = 0;
};

inline std::string insert_of(const std::string& customer) {
  return "INSERT INTO charges VALUES ('" + customer + "')";
}
inline std::string count_of(const std::string& customer) {
  return "SELECT count(*) FROM charges WHERE who = '" + customer + "'";
}

// --- libpq ----------------------------------------------------------------------------------

class libpq_till final : public till {
 public:
  explicit libpq_till(const std::string& url) : connection_(PQconnectdb(url.c_str()), PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK)
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    PQsetNoticeProcessor(
        connection_.get(), [](void*, const char*) {}, nullptr);
  }
  [[nodiscard]] PGconn* on() const noexcept { return connection_.get(); }

  /// The first value, where there is one; a failure is thrown as statement_failed.
  std::string run(const std::string& statement) {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> got(
        PQexec(connection_.get(), statement.c_str()), PQclear);
    postgres::check(connection_.get(), got.get());
    return PQntuples(got.get()) == 0 ? "" : PQgetvalue(got.get(), 0, 0);
  }

  result<verdict> execute(const request& request, const execute_policy& policy,
                          const effect_work& work) override {
    return postgres::execute(connection_.get(), request, policy, work);
  }
  result<verdict> execute_steps(const request& request, const execute_policy& policy,
                                const steps_work& work) override {
    return postgres::execute_steps(connection_.get(), request, policy, work);
  }
  void charge(const std::string& customer) override { run(insert_of(customer)); }
  void begin_and_read(const std::string& level) override {
    run("BEGIN ISOLATION LEVEL " + level + "; SELECT count(*) FROM charges");
  }
  void commit() override { run("COMMIT"); }
  void roll_back() override { run("ROLLBACK"); }

 private:
  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

// --- libpqxx --------------------------------------------------------------------------------

class pqxx_till final : public till {
 public:
  explicit pqxx_till(const std::string& url) : connection_(url) {}

  result<verdict> execute(const request& request, const execute_policy& policy,
                          const effect_work& work) override {
    const auto in_it = [&](pqxx::transaction_base& base, const lease& held) {
      const within here(*this, base);
      return work(held);
    };
    if (auto* outer = dynamic_cast<pqxx::dbtransaction*>(transaction_)) {
      return postgres::execute(*outer, request, policy, in_it);
    }
    return postgres::execute(connection_, request, policy, in_it);
  }
  result<verdict> execute_steps(const request& request, const execute_policy& policy,
                                const steps_work& work) override {
    return postgres::execute_steps(connection_, request, policy, [&](postgres::pqxx_steps& flow) {
      forwarded to_flow(*this, flow);
      return work(to_flow);
    });
  }
  void charge(const std::string& customer) override { transaction_->exec(insert_of(customer)); }
  void begin_and_read(const std::string& level) override {
    mine_ = std::make_unique<pqxx::work>(connection_);
    mine_->exec("SET TRANSACTION ISOLATION LEVEL " + level);
    mine_->exec("SELECT count(*) FROM charges");
    transaction_ = mine_.get();
  }
  void commit() override { mine_->commit(), end(); }
  void roll_back() override { mine_->abort(), end(); }

 private:
  /// What charge() writes in, as long as it is open.
  class within {
   public:
    within(pqxx_till& till, pqxx::transaction_base& base)
        : till_(till), before_(till.transaction_) {
      till.transaction_ = &base;
    }
    within(const within&) = delete;
    within& operator=(const within&) = delete;
    ~within() { till_.transaction_ = before_; }

   private:
    pqxx_till& till_;
    pqxx::transaction_base* before_;
  };
  class forwarded final : public steps {
   public:
    forwarded(pqxx_till& till, postgres::pqxx_steps& flow) : till_(till), steps_(flow) {}
    std::string step(std::string_view name, const callable<std::string()>& work,
                     const compensation_work& compensation) override {
      const auto in_step = [&](pqxx::transaction_base& base) {
        const within here(till_, base);
        return work();
      };
      if (!compensation) return steps_.step(name, in_step);
      return steps_.step(name, in_step,
                         [this, compensation](pqxx::transaction_base& base, const auto& stored) {
                           const within here(till_, base);
                           compensation(stored);
                         });
    }
    [[nodiscard]] std::string key_for(std::string_view purpose) const override {
      return steps_.key_for(purpose);
    }
    [[nodiscard]] const lease& held() const noexcept override { return steps_.held(); }

   private:
    void on_failure(answer reply) override { steps_.fail(std::move(reply)); }

    pqxx_till& till_;
    postgres::pqxx_steps& steps_;
  };
  void end() {
    transaction_ = nullptr;
    mine_.reset();
  }

  pqxx::connection connection_;
  std::unique_ptr<pqxx::work> mine_;
  pqxx::transaction_base* transaction_ = nullptr;
};

template <class Till>
class postgres_shop final : public shop {
 public:
  postgres_shop() {
    database_.admin().run("CREATE TABLE IF NOT EXISTS charges (who text); TRUNCATE charges");
  }
  [[nodiscard]] std::unique_ptr<till> open() override {
    return std::make_unique<Till>(database_.url());
  }
  [[nodiscard]] int charges(const std::string& customer) override {
    return std::stoi(database_.admin().value(count_of(customer)));
  }

 private:
  postgres_database database_;
};

// --- SQLite ---------------------------------------------------------------------------------

class sqlite_till final : public till {
 public:
  explicit sqlite_till(const std::string& path) : connection_(nullptr, sqlite3_close) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open(path.c_str(), &opened);
    connection_.reset(opened);
    if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(opened));
  }
  [[nodiscard]] sqlite3* on() const noexcept { return connection_.get(); }

  /// The first value of the last row, where there is one.
  std::string run(const std::string& statement) {
    std::string out;
    const auto keep = [](void* memory, int columns, char** values, char**) {
      if (columns > 0 && values[0] != nullptr) *static_cast<std::string*>(memory) = values[0];
      return 0;
    };
    if (sqlite3_exec(connection_.get(), statement.c_str(), keep, &out, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sqlite3_errmsg(connection_.get()));
    }
    return out;
  }

  result<verdict> execute(const request& request, const execute_policy& policy,
                          const effect_work& work) override {
    return sqlite::execute(connection_.get(), request, policy, work);
  }
  result<verdict> execute_steps(const request& request, const execute_policy& policy,
                                const steps_work& work) override {
    return sqlite::execute_steps(connection_.get(), request, policy, work);
  }
  void charge(const std::string& customer) override { run(insert_of(customer)); }
  void begin_and_read(const std::string& /*serializable it is*/) override {
    run("BEGIN; SELECT count(*) FROM charges");
  }
  void commit() override { run("COMMIT"); }
  void roll_back() override { run("ROLLBACK"); }

 private:
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> connection_;
};

class sqlite_shop final : public shop {
 public:
  sqlite_shop() : counter_(path()) {
    counter_.run("PRAGMA journal_mode = WAL; CREATE TABLE charges (who TEXT)");
    sqlite3_busy_timeout(counter_.on(), 10'000);
  }
  [[nodiscard]] std::string path() const { return folder_.file("shop.db"); }
  [[nodiscard]] std::unique_ptr<till> open() override {
    return std::make_unique<sqlite_till>(path());
  }
  [[nodiscard]] int charges(const std::string& customer) override {
    return std::stoi(counter_.run(count_of(customer)));
  }

 private:
  temporary_folder folder_;
  sqlite_till counter_;
};

struct library_under_test {
  const char* name;
  std::unique_ptr<shop> (*make)();
  bool levels = true;  ///< are there several levels of isolation?
};
inline std::ostream& operator<<(std::ostream& output, const library_under_test& one) {
  return output << one.name;
}

inline const library_under_test libraries[] = {
    {"libpq", [] { return std::unique_ptr<shop>(new postgres_shop<libpq_till>); }},
    {"pqxx", [] { return std::unique_ptr<shop>(new postgres_shop<pqxx_till>); }},
    {"sqlite", [] { return std::unique_ptr<shop>(new sqlite_shop); }, false},
};

}  // namespace onceguard::testing
