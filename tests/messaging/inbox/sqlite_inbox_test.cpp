// What only SQLite can do to the inbox: statements that roll everything back, refused commits.
#include "messaging/inbox/inbox_fixture.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

class sqlite_inbox : public ::testing::Test {
 protected:
  sqlite_inbox() {
    run("PRAGMA foreign_keys = ON; CREATE TABLE charges (who TEXT);"
        "CREATE TABLE taken (name TEXT UNIQUE); INSERT INTO taken VALUES ('bob');"
        "CREATE TABLE parents (id INTEGER PRIMARY KEY);"
        "CREATE TABLE children (parent REFERENCES parents DEFERRABLE INITIALLY DEFERRED)");
  }

  std::string run(const std::string& statement) { return till_.run(statement); }
  int charges(const std::string& customer) {
    return std::stoi(run("SELECT count(*) FROM charges WHERE who = '" + customer + "'"));
  }
  /// Charges whom the payload names; then runs the statement for the message of bob.
  inbox_outcomes process(const std::string& of_bob,
                         const std::vector<inbox_message>& batch = {
                             {"m1", "ada"}, {"m2", "bob"}, {"m3", "cyd"}}) {
    auto got = inbox_.process(batch, [&](const inbox_message& message, const lease&) {
      run("INSERT INTO charges VALUES ('" + std::string(message.payload) + "')");
      if (message.payload == "bob") run(of_bob);
    });
    if (!got) throw std::runtime_error(got.error().detail);
    return std::move(*got);
  }
  void expect_that_bob_alone_failed(const inbox_outcomes& got, const std::string& reason) {
    EXPECT_EQ(got.at(0).kind, inbox_result::handled);
    EXPECT_EQ(got.at(1).kind, inbox_result::failed);
    EXPECT_EQ(got.at(1).attempt, 1u);
    EXPECT_NE(got.at(1).reason.find(reason), std::string::npos) << got.at(1).reason;
    EXPECT_EQ(got.at(2).kind, inbox_result::handled);
    EXPECT_EQ(charges("ada"), 1);
    EXPECT_EQ(charges("bob"), 0);
    EXPECT_EQ(charges("cyd"), 1);
  }

  temporary_folder folder_;
  sqlite_till till_{folder_.file("shop.db")};
  sqlite::inbox inbox_{till_.on(), "billing", impatient()};
};

TEST_F(sqlite_inbox, a_commit_that_is_refused_fails_the_guilty_message_alone) {
  expect_that_bob_alone_failed(process("INSERT INTO children VALUES (404)"), "FOREIGN KEY");
}

TEST_F(sqlite_inbox, a_statement_that_rolls_everything_back_fails_the_guilty_message_alone) {
  expect_that_bob_alone_failed(process("INSERT OR ROLLBACK INTO taken VALUES ('bob')"), "UNIQUE");
}

TEST_F(sqlite_inbox, a_handler_that_can_only_be_moved_runs) {
  auto customer = std::make_unique<std::string>("dan");
  const auto got = inbox_.process(
      {"m4", "x"}, [this, customer = std::move(customer)](const inbox_message&, const lease&) {
        run("INSERT INTO charges VALUES ('" + *customer + "')");
      });
  EXPECT_EQ(got->kind, inbox_result::handled);
  EXPECT_EQ(charges("dan"), 1);
}

TEST_F(sqlite_inbox, such_failures_end_dead) {
  inbox_result last{};
  for (int i = 0; i < 1'000 && last != inbox_result::dead; ++i) {
    last = process("INSERT INTO children VALUES (404)", {{"m2", "bob"}}).at(0).kind;
  }
  EXPECT_EQ(last, inbox_result::dead);
  EXPECT_EQ(charges("bob"), 0);
}

TEST_F(sqlite_inbox, a_handler_that_commits_and_throws_is_not_run_again) {
  EXPECT_EQ(process("COMMIT; SELECT nonsense", {{"m2", "bob"}}).at(0).kind, inbox_result::busy);
  EXPECT_EQ(charges("bob"), 1);
}

TEST_F(sqlite_inbox, the_connections_durability_is_put_back) {
  run("PRAGMA synchronous = OFF");
  for (const auto* const of_bob : {"SELECT 1", "INSERT OR ROLLBACK INTO taken VALUES ('bob')"}) {
    static_cast<void>(process(of_bob));
    EXPECT_EQ(run("PRAGMA synchronous"), "0");
  }
}

TEST_F(sqlite_inbox, a_handler_that_undoes_its_claim_commits_nothing) {
  static_cast<void>(process("", {{"m0", "eve"}}));  // makes the tables
  const std::vector<inbox_message> batch{{"m1", "ada"}};
  const auto got = inbox_.process(batch, [&](const inbox_message&, const lease&) {
    run("ROLLBACK; BEGIN; SAVEPOINT onceguard_message; INSERT INTO charges VALUES ('ada')");
  });
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().effect, effect::unknown) << got.error().detail;
  EXPECT_EQ(charges("ada"), 0);
  EXPECT_EQ(process("", batch).at(0).kind, inbox_result::handled);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_F(sqlite_inbox, records_that_have_expired_go_with_the_messages_that_follow) {
  inbox_policy brief = impatient();
  brief.retention = milliseconds(1);
  sqlite::inbox forgetful(till_.on(), "billing", brief);
  const auto ignore = [](const inbox_message&, const lease&) {};
  int number = 0;
  const auto handle_one = [&] {
    forgetful.process({"m" + std::to_string(++number), "ada"}, ignore).value();
  };
  const auto records = [&] { return std::stoi(run("SELECT count(*) FROM onceguard_records")); };
  while (number < 30) handle_one();
  wait_until("the sweep", [&] {
    handle_one();
    return records() <= 3;
  });
}

}  // namespace
}  // namespace onceguard::testing
