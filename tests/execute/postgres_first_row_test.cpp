// Unique constraints and guarded changes of state in PostgreSQL, against twins that are not over.
#include <future>

#include <gmock/gmock.h>

#include <onceguard/first_row_postgres.hpp>

#include "execute/execute_fixture.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using ::testing::ElementsAre;

class postgres_first_row : public ::testing::Test {
 protected:
  static constexpr auto insert =
      "INSERT INTO orders (reference, coupon, cents) VALUES ($1, $2, $3)"
      " ON CONFLICT ON CONSTRAINT orders_reference_key DO NOTHING RETURNING id, cents";
  static constexpr auto find = "SELECT id, cents FROM orders WHERE reference = $1";

  postgres_first_row() {
    run("DROP TABLE IF EXISTS orders;"
        "CREATE TABLE orders (id integer GENERATED ALWAYS AS IDENTITY, reference text UNIQUE,"
        " coupon text UNIQUE, cents integer CHECK (cents > 0), status text DEFAULT 'open')");
  }

  std::string run(const std::string& statement) { return till_.run(statement); }
  static first_row order(const libpq_till& till, const char* reference, sql_value coupon = {},
                         const char* cents = "42") {
    return postgres::insert_once(till.on(), insert, find, {reference, std::move(coupon), cents});
  }
  /// Waits until a statement waits for another transaction.
  void wait_for_waiter() {
    wait_until("a waiter",
               [&] { return run("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1"; });
  }
  static std::string sqlstate_of(const std::function<void()>& act) {
    try {
      act();
    } catch (const postgres::statement_failed& failed) {
      return failed.sqlstate();
    }
    return "none";
  }

  postgres_server& server_ = postgres_server::shared();
  postgres_database database_{server_};
  libpq_till till_{database_.url()};
  libpq_till other_{database_.url()};
};

TEST_F(postgres_first_row, a_repeat_gets_the_first_row) {
  const auto first = order(till_, "A-1");
  EXPECT_TRUE(first.made);
  EXPECT_THAT(first.columns, ElementsAre("1", "42"));
  const auto repeat = order(other_, "A-1", {}, "43");
  EXPECT_FALSE(repeat.made);
  EXPECT_EQ(repeat.columns, first.columns) << "the caller sees that it was another request";
  EXPECT_EQ(run("SELECT count(*) FROM orders"), "1");
}

TEST_F(postgres_first_row, a_repeat_during_the_first_one_waits_for_it) {
  other_.run("BEGIN");
  EXPECT_TRUE(order(other_, "A-1").made);
  auto repeat = std::async(std::launch::async, [&] {
    libpq_till third(database_.url());
    return order(third, "A-1");
  });
  wait_for_waiter();
  other_.run("COMMIT");
  const auto got = repeat.get();
  EXPECT_FALSE(got.made);
  EXPECT_THAT(got.columns, ElementsAre("1", "42"));
}

// Why the statement is sent again: the SELECT in it began before the first one committed.
TEST_F(postgres_first_row, the_statement_alone_gives_no_row_then) {
  other_.run("BEGIN; INSERT INTO orders (reference, cents) VALUES ('A-1', 42)");
  auto rows = std::async(std::launch::async, [&] {
    libpq_till third(database_.url());
    return third.run(postgres::insert_once_text(
        "INSERT INTO orders (reference, cents) VALUES ('A-1', 42) ON CONFLICT (reference) "
        "DO NOTHING RETURNING id",
        "SELECT id FROM orders WHERE reference = 'A-1'"));
  });
  wait_for_waiter();
  other_.run("COMMIT");
  EXPECT_EQ(rows.get(), "");
}

TEST_F(postgres_first_row, a_first_one_that_rolls_back_leaves_it_to_the_repeat) {
  other_.run("BEGIN");
  static_cast<void>(order(other_, "A-1"));
  auto repeat = std::async(std::launch::async, [&] {
    libpq_till third(database_.url());
    return order(third, "A-1");
  });
  wait_for_waiter();
  other_.run("ROLLBACK");
  EXPECT_TRUE(repeat.get().made);
  EXPECT_EQ(run("SELECT count(*) FROM orders"), "1");
}

TEST_F(postgres_first_row, a_row_that_is_being_removed_is_made_anew) {
  static_cast<void>(order(till_, "A-1"));
  other_.run("BEGIN; DELETE FROM orders");
  auto repeat = std::async(std::launch::async, [&] {
    libpq_till third(database_.url());
    return order(third, "A-1", {}, "43");
  });
  wait_for_waiter();
  other_.run("COMMIT");
  const auto got = repeat.get();
  EXPECT_TRUE(got.made);
  EXPECT_EQ(got.columns.at(1), "43") << "not the row that is gone, which the SELECT still saw";
}

TEST_F(postgres_first_row, another_constraint_stays_an_error) {
  static_cast<void>(order(till_, "A-1", "SUMMER"));
  EXPECT_EQ(sqlstate_of([&] { order(till_, "A-2", "SUMMER"); }), "23505");
  EXPECT_EQ(sqlstate_of([&] { order(till_, "A-3", {}, "0"); }), "23514");
  EXPECT_FALSE(order(till_, "A-1", "SUMMER").made);
  EXPECT_EQ(run("SELECT count(*) FROM orders"), "1");
}

TEST_F(postgres_first_row, above_read_committed_the_transaction_is_to_be_run_again) {
  till_.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
  static_cast<void>(order(other_, "A-1"));
  EXPECT_EQ(sqlstate_of([&] { order(till_, "A-1"); }), "40001");
  till_.run("ROLLBACK");
  EXPECT_FALSE(order(till_, "A-1").made);
}

TEST_F(postgres_first_row, a_search_for_something_else_is_refused) {
  static_cast<void>(order(till_, "A-1"));
  EXPECT_EQ(sqlstate_of([&] {
              static_cast<void>(postgres::insert_once(
                  till_.on(), insert, "SELECT id, cents FROM orders WHERE reference = $1 || 'x'",
                  {"A-1", {}, "42"}));
            }),
            "P0002");
  EXPECT_THROW(static_cast<void>(postgres::insert_once(
                   till_.on(), "INSERT INTO orders (cents) VALUES ($1)", find, {"42"})),
               std::invalid_argument);
}

TEST_F(postgres_first_row, the_name_of_the_constraint_is_known) {
  run("INSERT INTO orders (reference, cents) VALUES ('A-1', 1)");
  const auto failing = [&](const char* statement) {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> got(PQexec(till_.on(), statement),
                                                             PQclear);
    return postgres::duplicate_key(got.get());
  };
  EXPECT_EQ(failing("INSERT INTO orders (reference, cents) VALUES ('A-1', 1)"),
            "orders_reference_key");
  EXPECT_EQ(failing("INSERT INTO orders (reference, cents) VALUES ('A-2', 0)"), std::nullopt);
  EXPECT_EQ(failing("SELECT 1"), std::nullopt);
  EXPECT_EQ(postgres::duplicate_key(nullptr), std::nullopt);
}

// ---- changes of state

std::optional<first_row> capture(const libpq_till& till, const char* id) {
  return postgres::change_once(
      till.on(),
      {"UPDATE orders SET status = 'captured' WHERE id = $1 AND status = 'open'"
       " RETURNING status, cents",
       {id}},
      {"SELECT status, cents FROM orders WHERE id = $1", {id}});
}

TEST_F(postgres_first_row, a_change_of_state_is_made_once) {
  static_cast<void>(order(till_, "A-1"));
  EXPECT_TRUE(capture(till_, "1")->made);
  const auto repeat = capture(other_, "1");
  EXPECT_FALSE(repeat->made);
  EXPECT_THAT(repeat->columns, ElementsAre("captured", "42"));
  EXPECT_EQ(capture(till_, "2"), std::nullopt);
}

TEST_F(postgres_first_row, a_twin_waits_and_sees_what_the_first_one_made) {
  static_cast<void>(order(till_, "A-1"));
  other_.run("BEGIN");
  EXPECT_TRUE(capture(other_, "1")->made);
  auto twin = std::async(std::launch::async, [&] {
    libpq_till third(database_.url());
    return capture(third, "1");
  });
  wait_for_waiter();
  other_.run("COMMIT");
  const auto got = twin.get();
  EXPECT_FALSE(got->made);
  EXPECT_THAT(got->columns, ElementsAre("captured", "42"));
}

// Why these are two statements.
TEST_F(postgres_first_row, one_statement_for_both_tells_of_the_state_before_the_twin) {
  static_cast<void>(order(till_, "A-1"));
  other_.run("BEGIN; UPDATE orders SET status = 'captured'");
  auto twin = std::async(std::launch::async, [&] {
    libpq_till third(database_.url());
    return third.run(
        "WITH made AS (UPDATE orders SET status = 'captured' WHERE id = 1 AND status = 'open'"
        " RETURNING status) SELECT status FROM made UNION ALL SELECT status FROM orders"
        " WHERE id = 1");
  });
  wait_for_waiter();
  other_.run("COMMIT");
  EXPECT_EQ(twin.get(), "open");
}

}  // namespace
}  // namespace onceguard::testing
