// Exactly once inside a transaction of libpqxx (6.4 or newer). The promises and return values are
// those of postgres.hpp. Header-only: the caller needs the headers and the library of libpqxx,
// onceguard does not.
#pragma once
#include <memory>
#include <pqxx/pqxx>
#include <string>
#include <string_view>
#include <utility>

#include <onceguard/postgres.hpp>

namespace onceguard::postgres {
inline namespace v1 {

/// Given a connection without a transaction, begins its own transaction. Given a transaction,
/// begins a part of it (a pqxx::subtransaction); meanwhile the caller's own object can't be used.
class pqxx_transaction final : public sql_transaction {
 public:
  /// A transaction of its own.
  explicit pqxx_transaction(pqxx::connection& connection) : connection_(&connection) {}
  /// A part of the caller's transaction.
  explicit pqxx_transaction(pqxx::dbtransaction& outer) : outer_(&outer) {}

  [[nodiscard]] bool whole() const noexcept override { return outer_ == nullptr; }

  /// The transaction, or the part of one, that is open now.
  [[nodiscard]] pqxx::transaction_base& open() const { return *open_; }

  /// As sql_transaction::begin.
  void begin(isolation_level level) override {
    saying([&] {
      if (!whole()) {
        open_ = std::make_unique<pqxx::subtransaction>(*outer_, "onceguard");
        return;
      }
      open_ = std::make_unique<pqxx::work>(*connection_);
      const std::string name = name_of(level);
      if (!name.empty()) open_->exec("SET TRANSACTION ISOLATION LEVEL " + name);
    });
  }

  row run(const std::string& statement) override {
    row out;
    if (statement.empty()) return out;
    saying([&] {
      const pqxx::result got = open_->exec(statement);
      if (got.empty()) return;
      for (const auto& value : got[0]) {
        if (value.is_null()) {
          out.emplace_back();
        } else {
          out.emplace_back(std::in_place, value.c_str(), value.size());
        }
      }
    });
    return out;
  }

  void commit(const std::string& last_statement) override {
    saying([&] {
      if (!last_statement.empty()) open_->exec(last_statement);
      open_->commit();
      open_.reset();
    });
  }

  void roll_back() noexcept override { open_.reset(); }

  /// Calls `act`. Translates the libpqxx exceptions that execute handles (it returns them as errors
  /// or retries) into statement_failed.
  template <class Act>
  static auto translating(Act act) {
    try {
      return act();
    } catch (const pqxx::broken_connection& failed) {
      throw statement_failed("", failed.what(), true);
    } catch (const pqxx::in_doubt_error& failed) {
      throw statement_failed("", failed.what(), true);
    } catch (const pqxx::statement_completion_unknown& failed) {
      throw statement_failed("40003", failed.what(), true);
    } catch (const pqxx::transaction_rollback& failed) {
      throw statement_failed("40001", failed.what());
    }
  }

 private:
  /// The same for the statements of execute itself: every SQL error becomes statement_failed.
  template <class Act>
  void saying(Act act) {
    try {
      translating(act);
    } catch (const pqxx::sql_error& failed) {
      const bool lost = open_ && !open_->conn().is_open();
      throw statement_failed(failed.sqlstate(), failed.what(), lost);
    }
  }

  static const char* name_of(isolation_level level) noexcept {
    switch (level) {
      case isolation_level::as_session:
        break;
      case isolation_level::read_committed:
        return "READ COMMITTED";
      case isolation_level::repeatable_read:
        return "REPEATABLE READ";
      case isolation_level::serializable:
        return "SERIALIZABLE";
    }
    return "";
  }

  pqxx::connection* connection_ = nullptr;
  pqxx::dbtransaction* outer_ = nullptr;
  std::unique_ptr<pqxx::dbtransaction> open_;
};

/// Must use only the given transaction.
using pqxx_work = callable<answer(pqxx::transaction_base&, const lease&)>;

/// As execute on a libpq connection, in a transaction of its own.
[[nodiscard]] inline result<verdict> execute(pqxx::connection& connection, const request& request,
                                             const execute_policy& policy, const pqxx_work& work) {
  pqxx_transaction transaction(connection);
  return execute(transaction, request, policy, [&](const lease& held) {
    return pqxx_transaction::translating([&] { return work(transaction.open(), held); });
  });
}

/// Inside the caller's transaction: the caller commits, and sends the answer after the commit.
[[nodiscard]] inline result<verdict> execute(pqxx::dbtransaction& outer, const request& request,
                                             const execute_policy& policy, const pqxx_work& work) {
  pqxx_transaction transaction(outer);
  return execute(transaction, request, policy, [&](const lease& held) {
    return pqxx_transaction::translating([&] { return work(transaction.open(), held); });
  });
}

/// As onceguard::steps; each step gets its transaction.
class pqxx_steps {
 public:
  /// The steps of `flow`, each in `transaction`.
  pqxx_steps(steps& flow, pqxx_transaction& transaction) : flow_(flow), transaction_(transaction) {}

  /// As steps::step. Both functions get the transaction that they run in.
  std::string step(
      std::string_view name, const callable<std::string(pqxx::transaction_base&)>& work,
      const callable<void(pqxx::transaction_base&, const std::string& stored)>& compensation = {}) {
    const auto in_step = [&] {
      return pqxx_transaction::translating([&] { return work(transaction_.open()); });
    };
    if (!compensation) return flow_.step(name, in_step);
    return flow_.step(name, in_step, [this, compensation](const std::string& stored) {
      pqxx_transaction::translating([&] { compensation(transaction_.open(), stored); });
    });
  }
  /// As steps::fail.
  [[noreturn]] void fail(answer reply) { flow_.fail(std::move(reply)); }
  /// As steps::key_for.
  [[nodiscard]] std::string key_for(std::string_view purpose) const {
    return flow_.key_for(purpose);
  }
  /// As steps::held.
  [[nodiscard]] const lease& held() const noexcept { return flow_.held(); }

 private:
  steps& flow_;
  pqxx_transaction& transaction_;
};

/// As execute_steps on a libpq connection.
[[nodiscard]] inline result<verdict> execute_steps(pqxx::connection& connection,
                                                   const request& request,
                                                   const execute_policy& policy,
                                                   const callable<answer(pqxx_steps&)>& work) {
  pqxx_transaction transaction(connection);
  return execute_steps(transaction, request, policy, [&](steps& flow) {
    pqxx_steps with_transactions(flow, transaction);
    return work(with_transactions);
  });
}

}  // namespace v1
}  // namespace onceguard::postgres
