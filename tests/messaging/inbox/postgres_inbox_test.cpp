// What only PostgreSQL can do to the inbox: conflicts, refused commits, broken connections.
#include <future>

#include "messaging/inbox/inbox_fixture.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

class postgres_inbox : public ::testing::Test {
 protected:
  postgres_inbox() {
    run("CREATE TABLE IF NOT EXISTS charges (who text); TRUNCATE charges;"
        "CREATE TABLE IF NOT EXISTS parents (id int PRIMARY KEY);"
        "CREATE TABLE IF NOT EXISTS children (parent int REFERENCES parents"
        " DEFERRABLE INITIALLY DEFERRED)");
  }

  std::string run(const std::string& statement) { return till_.run(statement); }
  [[nodiscard]] int charges(const std::string& customer) {
    return std::stoi(run(count_of(customer)));
  }
  message_handler charging(libpq_till& till) {
    return [this, &till](const inbox_message& message, const lease&) {
      ++runs_;
      till.charge(std::string(message.payload));
    };
  }

  postgres_server& server_ = postgres_server::shared();
  postgres_database database_{server_};
  libpq_till till_{database_.url()};
  postgres::inbox inbox_{till_.on(), "billing", impatient()};
  const inbox_message message_{"m1", "ada"};
  int runs_ = 0;
};

TEST_F(postgres_inbox, a_batch_costs_one_commit) {
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) ids.push_back("m" + std::to_string(i));
  std::vector<inbox_message> batch;
  for (const auto& id : ids) batch.push_back({id, "ada"});
  const auto handled = inbox_.process(batch, charging(till_)).value();
  EXPECT_EQ(charges("ada"), 20);
  EXPECT_EQ(run("SELECT count(DISTINCT xmin::text) FROM charges WHERE who = 'ada'"), "20")
      << "each in a savepoint of its own";
  EXPECT_EQ(run("SELECT count(DISTINCT xmin::text) FROM onceguard.records"), "1");
}

TEST_F(postgres_inbox, what_others_handle_now_is_busy) {
  libpq_till other(database_.url());
  std::promise<void> entered;
  std::promise<void> go;
  auto first = std::async(std::launch::async, [&] {
    return postgres::inbox(other.on(), "billing", impatient())
        .process(message_, [&](const inbox_message&, const lease&) {
          other.charge("ada");
          entered.set_value();
          go.get_future().wait();
        });
  });
  entered.get_future().wait();
  const auto got = inbox_.process(message_, charging(till_)).value();
  EXPECT_EQ(got.kind, inbox_result::busy);
  EXPECT_GT(got.retry_after, milliseconds(0));
  go.set_value();
  EXPECT_EQ(first.get()->kind, inbox_result::handled);
  EXPECT_EQ(inbox_.process(message_, charging(till_))->kind, inbox_result::duplicate);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_F(postgres_inbox, a_frozen_consumer_keeps_its_messages_for_its_lease_only) {
  inbox_policy short_lease = impatient();
  short_lease.lease = milliseconds(2'000);
  libpq_till frozen(database_.url());
  const auto late = postgres::inbox(frozen.on(), "billing", short_lease)
                        .process(message_, [&](const inbox_message&, const lease&) {
                          frozen.charge("ada");
                          // Longer than its lease: the server ends its transaction meanwhile.
                          wait_until("the message to be free", [&] {
                            const auto got = inbox_.process(message_, charging(till_)).value();
                            return got.kind == inbox_result::handled;
                          });
                        });
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, errc::store_unreachable);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_F(postgres_inbox, a_conflict_runs_the_message_again_without_a_failed_attempt) {
  bool first = true;
  const auto got = inbox_.process(message_, [&](const inbox_message&, const lease& held) {
    EXPECT_EQ(held.attempt, 1u);
    till_.charge("ada");
    if (std::exchange(first, false))
      run("DO $$ BEGIN RAISE 'lost' USING ERRCODE = '40001'; END $$");
  });
  ASSERT_TRUE(got.has_value()) << got.error().detail;
  EXPECT_EQ(got->kind, inbox_result::handled);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_F(postgres_inbox, conflicts_without_end_are_a_failed_attempt) {
  const auto got = inbox_.process(message_, [&](const inbox_message&, const lease&) {
    ++runs_;
    run("DO $$ BEGIN RAISE 'lost' USING ERRCODE = '40001'; END $$");
  });
  ASSERT_TRUE(got.has_value()) << got.error().detail;
  EXPECT_EQ(got->kind, inbox_result::failed);
  EXPECT_EQ(runs_, 9);
  EXPECT_EQ(run("SELECT state FROM onceguard.records"), "failed");
}

TEST_F(postgres_inbox, a_commit_that_is_refused_fails_the_guilty_message_alone) {
  const std::vector<inbox_message> batch{{"m1", "ada"}, {"m2", "orphan"}, {"m3", "cyd"}};
  const auto got = inbox_.process(batch, [&](const inbox_message& message, const lease&) {
    till_.charge(std::string(message.payload));
    if (message.payload == "orphan") run("INSERT INTO children VALUES (404)");
  });
  ASSERT_TRUE(got.has_value()) << got.error().detail;
  EXPECT_EQ((*got)[0].kind, inbox_result::handled);
  EXPECT_EQ((*got)[1].kind, inbox_result::failed);
  EXPECT_NE((*got)[1].reason.find("foreign key"), std::string::npos) << (*got)[1].reason;
  EXPECT_EQ((*got)[2].kind, inbox_result::handled);
  EXPECT_EQ(charges("ada") + charges("cyd"), 2);
  EXPECT_EQ(charges("orphan"), 0);
}

TEST_F(postgres_inbox, a_failed_statement_that_the_handler_hid_is_a_failure) {
  const auto got = inbox_.process(message_, [&](const inbox_message&, const lease&) {
    till_.charge("ada");
    try {
      run("SELECT nonsense");
    } catch (const postgres::statement_failed&) {
    }
  });
  EXPECT_EQ(got.value().kind, inbox_result::failed);
  EXPECT_EQ(charges("ada"), 0);
}

TEST_F(postgres_inbox, a_connection_that_breaks_in_the_handler_leaves_nothing) {
  libpq_till killer(database_.url());
  const auto got = inbox_.process(message_, [&](const inbox_message&, const lease&) {
    till_.charge("ada");
    killer.run("SELECT pg_terminate_backend(" + std::to_string(PQbackendPID(till_.on())) + ")");
    wait_until("the end of the connection", [&] {
      try {
        till_.run("SELECT 1");
        return false;
      } catch (const postgres::statement_failed& failed) {
        return failed.lost();
      }
    });
  });
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code, errc::store_unreachable);
  EXPECT_EQ(killer.run(count_of("ada")), "0");
  postgres::inbox second(killer.on(), "billing", impatient());
  EXPECT_EQ(second.process(message_, charging(killer))->kind, inbox_result::handled);
}

TEST_F(postgres_inbox, a_commit_whose_answer_is_lost_may_have_taken_effect) {
  run("CREATE OR REPLACE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS"
      " $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;"
      "CREATE TABLE fatal (who text);"
      "CREATE CONSTRAINT TRIGGER fatal AFTER INSERT ON fatal DEFERRABLE INITIALLY DEFERRED"
      " FOR EACH ROW EXECUTE FUNCTION end_session()");
  const auto got = inbox_.process(message_, [&](const inbox_message&, const lease&) {
    run("INSERT INTO fatal VALUES ('ada')");
  });
  libpq_till(database_.url()).run("DROP TABLE fatal");
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code, errc::store_unreachable);
  EXPECT_EQ(got.error().effect, effect::unknown);
}

TEST_F(postgres_inbox, the_commit_is_durable_whatever_the_session_says) {
  run("SET synchronous_commit = off");
  inbox_
      .process(message_, [&](const inbox_message&,
                             const lease&) { EXPECT_EQ(run("SHOW synchronous_commit"), "on"); })
      .value();
}

TEST_F(postgres_inbox, the_record_is_kept_for_the_inboxs_retention) {
  inbox_.process(message_, charging(till_)).value();
  EXPECT_EQ(run("SELECT round((expires_at - onceguard.now_ms()) / 86400000.0)"
                " FROM onceguard.records"),
            "7");
}

TEST_F(postgres_inbox, a_schema_that_is_missing_is_said) {
  libpq_till bare(server_.url("template1"));
  postgres::inbox inbox(bare.on(), "billing", impatient());
  const auto got = inbox.process(message_, charging(bare));
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code, errc::invalid_argument) << got.error().detail;
}

}  // namespace
}  // namespace onceguard::testing
