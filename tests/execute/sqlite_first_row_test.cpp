// Unique constraints and guarded changes of state in SQLite.
#include <gmock/gmock.h>

#include <onceguard/first_row_sqlite.hpp>

#include "execute/execute_fixture.hpp"

namespace onceguard::testing {
namespace {

using ::testing::ElementsAre;

class sqlite_first_row : public ::testing::Test {
 protected:
  static constexpr auto insert =
      "INSERT INTO orders (reference, coupon, cents) VALUES ($1, $2, $3)"
      " ON CONFLICT (reference) DO NOTHING RETURNING id, cents, coupon";
  static constexpr auto find = "SELECT id, cents, coupon FROM orders WHERE reference = $1";

  sqlite_first_row() {
    run("CREATE TABLE orders (id INTEGER PRIMARY KEY, reference TEXT UNIQUE, coupon TEXT UNIQUE,"
        " cents INTEGER CHECK (cents > 0), status TEXT DEFAULT 'open')");
  }

  std::string run(const std::string& statement) { return till_.run(statement); }
  static first_row order(const sqlite_till& till, const char* reference, sql_value coupon = {},
                         const char* cents = "42") {
    return sqlite::insert_once(till.on(), insert, find, {reference, std::move(coupon), cents});
  }
  static int code_of(const std::function<void()>& act) {
    try {
      act();
    } catch (const sqlite::statement_failed& failed) {
      return failed.extended_code();
    }
    return SQLITE_OK;
  }
  /// What the library says of a statement that was just run.
  std::optional<std::string> duplicate(const char* statement) {
    sqlite3_exec(till_.on(), statement, nullptr, nullptr, nullptr);
    return sqlite::duplicate_key(till_.on());
  }

  temporary_folder folder_;
  const std::string path_ = folder_.file("shop.db");
  sqlite_till till_{path_};
  sqlite_till other_{path_};
};

TEST_F(sqlite_first_row, a_repeat_gets_the_first_row) {
  const auto first = order(till_, "A-1");
  EXPECT_TRUE(first.made);
  EXPECT_THAT(first.columns, ElementsAre("1", "42", std::nullopt));
  const auto repeat = order(other_, "A-1", "SUMMER", "43");
  EXPECT_FALSE(repeat.made);
  EXPECT_EQ(repeat.columns, first.columns);
  EXPECT_EQ(run("SELECT count(*) FROM orders"), "1");
}

TEST_F(sqlite_first_row, it_is_a_part_of_the_callers_transaction) {
  run("BEGIN IMMEDIATE");
  EXPECT_TRUE(order(till_, "A-1").made);
  EXPECT_FALSE(order(till_, "A-1").made);
  run("ROLLBACK");
  EXPECT_TRUE(order(other_, "A-1").made);
}

TEST_F(sqlite_first_row, another_constraint_stays_an_error) {
  static_cast<void>(order(till_, "A-1", "SUMMER"));
  EXPECT_EQ(code_of([&] { order(till_, "A-2", "SUMMER"); }), SQLITE_CONSTRAINT_UNIQUE);
  EXPECT_EQ(sqlite::duplicate_key(till_.on()), "orders.coupon");
  EXPECT_EQ(code_of([&] { order(till_, "A-3", {}, "0"); }), SQLITE_CONSTRAINT_CHECK);
  EXPECT_EQ(sqlite::duplicate_key(till_.on()), std::nullopt);
  EXPECT_EQ(run("SELECT count(*) FROM orders"), "1");
}

TEST_F(sqlite_first_row, a_database_that_others_write_is_busy) {
  other_.run("BEGIN IMMEDIATE");
  EXPECT_EQ(code_of([&] { order(till_, "A-1"); }), SQLITE_BUSY);
  other_.run("COMMIT");
  EXPECT_TRUE(order(till_, "A-1").made);
}

TEST_F(sqlite_first_row, a_mistake_of_the_caller_is_named) {
  static_cast<void>(order(till_, "A-1"));
  const auto call = [&](const char* inserting, const char* finding,
                        const std::vector<sql_value>& parameters) {
    return [=, this] {
      static_cast<void>(sqlite::insert_once(till_.on(), inserting, finding, parameters));
    };
  };
  const std::vector<sql_value> all{"A-1", {}, "42"};
  EXPECT_EQ(code_of(call(insert, "SELECT 1, 2, 3 FROM orders WHERE reference = $1 || 'x'", all)),
            SQLITE_MISUSE);
  EXPECT_EQ(code_of(call(insert, "SELECT nothing", all)), SQLITE_ERROR);
  EXPECT_THROW(call("INSERT INTO orders (cents) VALUES ($1)", find, {"42"})(),
               std::invalid_argument);
  EXPECT_THROW(call(insert, find, {"A-1", {}, "42", "one too many"})(), std::invalid_argument);
  EXPECT_THROW(call(insert, "", all)(), std::invalid_argument);
}

TEST_F(sqlite_first_row, what_was_there_twice_is_known) {
  run("CREATE TABLE plain (what TEXT); CREATE UNIQUE INDEX lower ON orders (lower(reference))");
  run("INSERT INTO orders VALUES (7, 'A-1', 'SUMMER', 42, 'open')");
  run("INSERT INTO plain (rowid, what) VALUES (7, 'x')");
  EXPECT_EQ(duplicate("INSERT INTO orders (id, cents) VALUES (7, 1)"), "orders.id");
  EXPECT_EQ(duplicate("INSERT INTO orders (reference, cents) VALUES ('A-1', 1)"), "index 'lower'");
  EXPECT_EQ(duplicate("INSERT INTO orders (coupon, cents) VALUES ('SUMMER', 1)"), "orders.coupon");
  EXPECT_EQ(duplicate("INSERT INTO plain (rowid, what) VALUES (7, 'y')"), "plain.rowid");
  EXPECT_EQ(duplicate("INSERT INTO orders (cents) VALUES (0)"), std::nullopt);
  EXPECT_EQ(duplicate("INSERT INTO orders (cents) VALUES (1)"), std::nullopt);
}

TEST_F(sqlite_first_row, a_change_of_state_is_made_once) {
  static_cast<void>(order(till_, "A-1"));
  const auto capture = [](const sqlite_till& till, const char* id) {
    return sqlite::change_once(
        till.on(),
        {"UPDATE orders SET status = 'captured' WHERE id = ?1 AND status = 'open'"
         " RETURNING status, cents",
         {id}},
        {"SELECT status, cents FROM orders WHERE id = ?1", {id}});
  };
  EXPECT_TRUE(capture(till_, "1")->made);
  const auto repeat = capture(other_, "1");
  EXPECT_FALSE(repeat->made);
  EXPECT_THAT(repeat->columns, ElementsAre("captured", "42"));
  EXPECT_EQ(capture(till_, "2"), std::nullopt);
}

}  // namespace
}  // namespace onceguard::testing
