// A till of the shop of `execute`, which charges customers for messages of an inbox.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <onceguard/inbox.hpp>
#include <onceguard/inbox_postgres.hpp>
#include <onceguard/inbox_sqlite.hpp>

#include "execute/execute_shop.hpp"

namespace onceguard::testing {

using inbox_outcomes = std::vector<inbox_outcome>;

/// A connection with an inbox on it.
class inbox_till {
 public:
  explicit inbox_till(std::unique_ptr<till> connection) : till_(std::move(connection)) {}

  result<inbox_outcomes> process(const std::string& subscriber, const inbox_policy& policy,
                                 std::span<const inbox_message> batch,
                                 const message_handler& handler) {
    if (auto* const libpq = dynamic_cast<libpq_till*>(till_.get())) {
      return postgres::inbox(libpq->on(), subscriber, policy).process(batch, handler);
    }
    auto& sqlite = dynamic_cast<sqlite_till&>(*till_);
    return sqlite::inbox(sqlite.on(), subscriber, policy).process(batch, handler);
  }
  void charge(const std::string& customer) { till_->charge(customer); }
  void run(const std::string& statement) {
    if (auto* const libpq = dynamic_cast<libpq_till*>(till_.get())) {
      libpq->run(statement);
    } else {
      dynamic_cast<sqlite_till&>(*till_).run(statement);
    }
  }
  /// Those that are there by now.
  void damage_records() {
    const bool on_postgres = dynamic_cast<libpq_till*>(till_.get()) != nullptr;
    run(on_postgres ? "UPDATE onceguard.records SET outcome = outcome || 'forged'"
                    : "UPDATE onceguard_records SET record = "
                      "CAST(x'01' || substr(record, 3) AS BLOB)");
  }

 private:
  std::unique_ptr<till> till_;
};

/// Those that have an inbox.
inline std::vector<library_under_test> databases() {
  std::vector<library_under_test> out;
  for (const auto& one : libraries) {
    if (std::string_view(one.name) != "pqxx") out.push_back(one);
  }
  return out;
}

/// The policy of the suites: nobody wants to wait for a back-off.
inline inbox_policy impatient() {
  inbox_policy out;
  out.attempts = 3;
  out.backoff = milliseconds(1);
  out.backoff_max = milliseconds(1);
  return out;
}

}  // namespace onceguard::testing
