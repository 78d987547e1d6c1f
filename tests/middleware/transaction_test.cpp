// Handlers in the service's own SQLite transaction: effect, record and answer commit together.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <onceguard/http_sqlite.hpp>

#include "middleware/middleware_fixture.hpp"
#include "support/waiting.hpp"

namespace onceguard::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class middleware_transaction : public ::testing::Test {
 protected:
  middleware_transaction() {
    sqlite3_open(":memory:", &shop_);
    run("CREATE TABLE owners (id INTEGER PRIMARY KEY)");
    run("CREATE TABLE payments (what TEXT, owner INTEGER REFERENCES owners DEFERRABLE INITIALLY "
        "DEFERRED)");
    run("PRAGMA foreign_keys = ON");
  }
  ~middleware_transaction() override { sqlite3_close(shop_); }

  void run(const std::string& sql) {
    ASSERT_EQ(sqlite3_exec(shop_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(shop_);
  }
  int payments() {
    sqlite3_stmt* counted = nullptr;
    sqlite3_prepare_v2(shop_, "SELECT count(*) FROM payments", -1, &counted, nullptr);
    sqlite3_step(counted);
    const int out = sqlite3_column_int(counted, 0);
    sqlite3_finalize(counted);
    return out;
  }
  response pay(std::uint16_t status, const std::string& owner = "NULL") {
    return sqlite::serve(served_, shop_, sent_.now(), [&] {
      run("INSERT INTO payments VALUES ('twenty', " + owner + ")");
      return response{status, {{"Set-Cookie", "a=b"}}, "answered " + std::to_string(status)};
    });
  }

  static middleware_params params(std::vector<std::string>& changes) {
    middleware_params out;
    out.on_change = [&changes](const change& made) {
      changes.push_back(std::string(name_of(made.kind)));
    };
    return out;
  }

  std::vector<std::string> changes_;
  middleware served_ = middleware::make(params(changes_)).value();
  sqlite3* shop_ = nullptr;
  arriving sent_;
};

TEST_F(middleware_transaction, handler_has_the_last_word) {
  int runs = 0;
  const auto pay_and_say = [&](const char* word) {
    return sqlite::serve(served_, shop_, sent_.now(), [&] {
      run("INSERT INTO payments VALUES ('twenty', NULL)");
      return response{200, {{"Onceguard-Outcome", word}}, "run " + std::to_string(++runs)};
    });
  };
  const auto taken_back = pay_and_say("none");
  EXPECT_EQ(taken_back.body, "run 1");
  EXPECT_EQ(value_of(taken_back, "Onceguard-Outcome"), "");
  EXPECT_EQ(payments(), 0) << "nothing happened, so the transaction is rolled back";
  EXPECT_EQ(pay_and_say("done").body, "run 2");
  const auto again = pay_and_say("done");
  EXPECT_EQ(again.body, "run 2");
  EXPECT_EQ(value_of(again, "Onceguard-Outcome"), "");
  EXPECT_EQ(payments(), 1);
}

TEST_F(middleware_transaction, answer_is_redacted_for_repeats_only) {
  auto given = params(changes_);
  given.routes.front().policy.redact.pointers = {"/card"};
  served_ = middleware::make(given).value();
  const auto answer_with = [&](std::string body) {
    return sqlite::serve(served_, shop_, sent_.now(), [&] { return response{201, {}, body}; });
  };
  EXPECT_EQ(answer_with(R"({"card":"4111"})").body, R"({"card":"4111"})");
  const auto again = answer_with("no");
  EXPECT_EQ(again.body, R"({"card":"[redacted]"})");
  EXPECT_EQ(value_of(again, "Onceguard-Redacted"), "true");
  sent_.set("Idempotency-Key", "\"key-2\"");
  EXPECT_EQ(answer_with("card 4111").body, "card 4111");
  EXPECT_EQ(answer_with("no").body, "") << "a record of a transaction always has an answer";
  EXPECT_EQ(answer_with("no").status, 201);
}

TEST_F(middleware_transaction, repeat_gets_the_first_answer_and_writes_nothing) {
  const auto first = pay(201);
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(value_of(first, "Set-Cookie"), "a=b");
  const auto second = pay(201);
  EXPECT_EQ(second.body, "answered 201");
  EXPECT_EQ(value_of(second, "Idempotent-Replayed"), "true");
  EXPECT_EQ(value_of(second, "Set-Cookie"), "");
  EXPECT_EQ(payments(), 1);
  EXPECT_THAT(changes_, ElementsAre("claimed", "completed", "replayed"));
}

TEST_F(middleware_transaction, refusal_and_failure_roll_back_and_free_the_key) {
  for (const std::uint16_t status : std::initializer_list<std::uint16_t>{402, 500, 503}) {
    EXPECT_EQ(pay(status).body, "answered " + std::to_string(status));
    EXPECT_EQ(payments(), 0);
  }
  EXPECT_EQ(pay(201).status, 201);
  EXPECT_EQ(payments(), 1);
}

TEST_F(middleware_transaction, exception_rolls_back_and_is_rethrown) {
  const auto failing = [&]() -> response {
    run("INSERT INTO payments VALUES ('twenty', NULL)");
    throw std::runtime_error("boom");
  };
  EXPECT_THROW(static_cast<void>(sqlite::serve(served_, shop_, sent_.now(), failing)),
               std::runtime_error);
  EXPECT_EQ(payments(), 0);
  EXPECT_EQ(pay(201).status, 201);
}

TEST_F(middleware_transaction, commit_that_the_database_refuses_is_500_and_leaves_nothing) {
  const auto got = pay(201, "17");
  EXPECT_EQ(got.status, 500);
  EXPECT_THAT(got.body, HasSubstr("nothing was done"));
  EXPECT_EQ(payments(), 0);
  EXPECT_EQ(pay(201).status, 201);
}

TEST_F(middleware_transaction, observed_request_runs_without_a_transaction_and_is_counted) {
  middleware_params observing = params(changes_);
  observing.routes.front().policy.observe = true;
  served_ = middleware::make(std::move(observing)).value();
  EXPECT_EQ(pay(201).status, 201);
  EXPECT_EQ(pay(201).status, 201);
  EXPECT_EQ(payments(), 2);
  EXPECT_THAT(changes_, ElementsAre("observed", "observed"));
  EXPECT_THAT(served_.observed(), HasSubstr(R"("repeats_run_again":1)"));
}

TEST_F(middleware_transaction, same_key_with_another_body_is_refused) {
  static_cast<void>(pay(201));
  sent_.body = "another";
  EXPECT_EQ(pay(201).status, 422);
  EXPECT_EQ(payments(), 1);
}

TEST_F(middleware_transaction, same_key_of_another_caller_is_another_operation) {
  EXPECT_EQ(value_of(pay(201), "Idempotent-Replayed"), "");
  sent_.set("Authorization", "Bearer of-bob");
  EXPECT_EQ(value_of(pay(201), "Idempotent-Replayed"), "");
  EXPECT_EQ(payments(), 2);
}

TEST_F(middleware_transaction, answer_never_goes_out_before_the_commit_of_a_transaction_around_it) {
  run("BEGIN");  // left open by another handler
  EXPECT_THROW(static_cast<void>(pay(201)), std::logic_error);
  run("ROLLBACK");
  EXPECT_EQ(payments(), 0);
  EXPECT_EQ(value_of(pay(201), "Idempotent-Replayed"), "");
  EXPECT_EQ(payments(), 1);
}

TEST_F(middleware_transaction, answer_without_a_status_is_an_error_and_leaves_nothing) {
  EXPECT_THROW(static_cast<void>(pay(0)), std::invalid_argument);
  EXPECT_EQ(payments(), 0);
  EXPECT_EQ(pay(201).status, 201);
}

TEST_F(middleware_transaction, record_is_kept_for_the_retention_of_its_route) {
  middleware_params soon = params(changes_);
  soon.routes.front().policy.retention = milliseconds(20);
  served_ = middleware::make(std::move(soon)).value();
  const auto made_again = [&] {
    static_cast<void>(pay(201));
    return payments() == 2;
  };
  testing::wait_until("the end of the retention", made_again, std::chrono::seconds(10));
}

TEST_F(middleware_transaction, request_without_a_key_passes) {
  sent_.remove("Idempotency-Key");
  static_cast<void>(pay(201));
  static_cast<void>(pay(201));
  EXPECT_EQ(payments(), 2);
}

TEST_F(middleware_transaction, middleware_without_a_guard_serves_in_transactions_only) {
  EXPECT_THROW(static_cast<void>(served_.begin(sent_.now())), std::logic_error);
}

}  // namespace
}  // namespace onceguard::http
