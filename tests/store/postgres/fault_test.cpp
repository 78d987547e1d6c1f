// The PostgreSQL store while connections break, and while the server crashes, hangs or loses its
// standby.
#include <atomic>
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/fault_acts.hpp"
#include "store/postgres/fixture.hpp"
#include "support/scale.hpp"
#include "support/tcp_gate.hpp"

namespace onceguard::testing {
namespace {

using ::testing::HasSubstr;

class postgres_fault_test : public postgres_fixture {};

class cut_at : public postgres_fault_test, public ::testing::WithParamInterface<direction> {};
INSTANTIATE_TEST_SUITE_P(directions, cut_at,
                         ::testing::Values(direction::to_server, direction::to_client),
                         [](const auto& test) {
                           return test.param == direction::to_server ? "to_server" : "to_client";
                         });

TEST_P(cut_at, a_cut_at_any_byte_runs_nothing_twice_and_is_recovered_from) {
  tcp_gate gate(server_.port());
  auto parameters = params();
  parameters.url = url_at(gate.port());
  parameters.connections = 1;
  const auto tested = open(parameters);
  blocking_store caller(*tested);
  int cuts = 0;
  for (std::uint64_t byte = 0;; byte += scaled_step(13)) {
    gate.cut_after(GetParam(), byte);
    expect_one_run(caller, "k" + std::to_string(byte));
    if (gate.armed()) break;  // `byte` is beyond the end of the conversation
    ++cuts;
  }
  gate.disarm();
  EXPECT_GT(cuts, scaled(50));
  const auto runs = database_.admin().value("SELECT count(*) FROM onceguard.records");
  EXPECT_EQ(runs, std::to_string(cuts + 1));
  EXPECT_EQ(database_.admin().value("SELECT count(attempt) FROM onceguard.records"), "0");
}

TEST_P(cut_at, a_cut_at_any_byte_while_opening_is_recovered_from) {
  tcp_gate gate(server_.port());
  auto value = params();
  value.url = url_at(gate.port());
  value.connections = 1;
  for (std::uint64_t byte = 0;; byte += scaled_step(41)) {
    gate.cut_after(GetParam(), byte);
    const auto tested = open(value);
    if (gate.armed()) break;
    expect_one_run(*std::make_unique<blocking_store>(*tested), "k" + std::to_string(byte));
  }
}

TEST_F(postgres_fault_test, a_server_crash_under_load_loses_and_repeats_nothing) {
  postgres_server server("synchronous_commit = on\n");
  postgres_database database(server);
  auto parameters = params();
  parameters.url = database.url();
  const auto tested = open(parameters);
  const auto runs = run_across_crashes(*tested, 16, 200, [&] {
    server.stop(SIGQUIT);
    server.start();
  });
  sql_session reader(database.url());
  EXPECT_EQ(
      reader.value(
          "SELECT count(*) FROM onceguard.records WHERE state = 'completed' AND attempt IS NULL"),
      std::to_string(runs));
  EXPECT_EQ(reader.value("SELECT count(*) FROM onceguard.records WHERE flags & 2 > 0"), "0");
}

TEST_F(postgres_fault_test, a_hanging_server_is_reported_unreachable_within_the_timeout) {
  postgres_server server;
  postgres_database database(server);
  auto value = params();
  value.url = database.url();
  value.timeout = milliseconds(1'000);
  store_ptr tested;
  wait_until("a server that answers within the timeout", [&] {
    tested = open(value);
    return true;
  });
  blocking_store caller(*tested);
  expect_out_of_reach_while_it_hangs(caller, server);
}

TEST_F(postgres_fault_test, a_claim_waits_for_a_server_that_restarts_within_the_timeout) {
  postgres_server server;
  postgres_database database(server);
  auto value = params();
  value.url = database.url();
  value.timeout = std::chrono::minutes(2);  // on a busy machine a start takes long
  const auto tested = open(value);
  server.stop(SIGQUIT);
  auto reply = meanwhile([&] {
    blocking_store own(*tested);
    return own.try_claim(claim_of("k"), std::chrono::minutes(2)).has_value();
  });
  server.start();
  EXPECT_TRUE(reply.get());
}

TEST_F(postgres_fault_test, a_claim_is_repeated_until_its_commit_has_waited_for_the_standby) {
  postgres_server server;
  postgres_database database(server);
  auto parameters = params();
  parameters.url = database.url();
  parameters.timeout = std::chrono::minutes(2);  // of all that the test does while the claim waits
  const auto tested = open(parameters);
  auto& admin = database.admin();
  const auto in_sync_wait = [](const std::string& description) {
    return "SELECT " + description + " FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
  };
  admin.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  admin.run("SELECT pg_reload_conf()");
  // The setting takes effect for all sessions at once, but some time after the reload.
  std::atomic<bool> in_force = false;
  auto others = meanwhile([&] {
    sql_session own(database.url());
    // Bounded, so that the test fails and does not hang if the setting never takes effect.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(90);
    while (!in_force && std::chrono::steady_clock::now() < until) {
      own.run("SELECT pg_logical_emit_message(true, 'test', 'a commit')");
    }
  });
  wait_until("the setting", [&] { return admin.value(in_sync_wait("count(*)")) != "0"; });
  in_force = true;
  wait_until("the other commits", [&] {
    admin.run(in_sync_wait("pg_cancel_backend(pid)"));
    return others.wait_for(std::chrono::milliseconds(0)) == std::future_status::ready;
  });
  auto reply = meanwhile([&] {
    blocking_store own(*tested);
    return own.try_claim(claim_of("k"), std::chrono::minutes(2));
  });
  // The record becomes visible when the wait of its commit is cancelled. Other commits may wait
  // too, such as those that set up a connection.
  wait_until("the record", [&] {
    if (admin.value("SELECT count(*) FROM onceguard.records") == "1") return true;
    admin.run(in_sync_wait("pg_cancel_backend(pid)"));
    return false;
  });
  // The repeat of the claim has nothing to write, and must wait for the standby all the same.
  wait_until("the repeat", [&] { return admin.value(in_sync_wait("count(*)")) != "0"; });
  EXPECT_EQ(reply.wait_for(std::chrono::milliseconds(0)), std::future_status::timeout);
  admin.run("ALTER SYSTEM RESET synchronous_standby_names");
  admin.run("SELECT pg_reload_conf()");
  const auto verdict_reported = reply.get();
  ASSERT_TRUE(verdict_reported);
  EXPECT_EQ(verdict_reported->kind, verdict_kind::run);
  EXPECT_EQ(verdict_reported->lease.attempt, 1u);
}

TEST_F(postgres_fault_test, a_full_disk_is_reported_as_store_full_and_changes_nothing) {
  database_.admin().run(
      "CREATE FUNCTION public.full() RETURNS trigger LANGUAGE plpgsql AS"
      " $$ BEGIN RAISE 'could not extend file' USING ERRCODE = '53100'; END $$;"
      "CREATE TRIGGER full_disk BEFORE INSERT ON onceguard.records"
      " FOR EACH ROW EXECUTE FUNCTION public.full()");
  const auto tested = open();
  blocking_store caller(*tested);
  const auto request = claim_of("k");
  const auto verdict = caller.try_claim(request);
  database_.admin().run("DROP TRIGGER full_disk ON onceguard.records; DROP FUNCTION public.full()");
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, errc::store_full);
  EXPECT_EQ(verdict.error().effect, effect::none);
  EXPECT_EQ(caller.claim(request).kind, verdict_kind::run);
}

TEST_F(postgres_fault_test, an_item_that_the_server_refuses_fails_no_other_item_of_its_batch) {
  const auto tested = open();
  blocking_store caller(*tested);
  // Codes for a violated constraint, a damaged page, and a block that the disk fails to read.
  for (const std::string code : {"23514", "XX001", "58030"}) {
    database_.admin().run(
        "CREATE FUNCTION public.picky() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN IF NEW.digest = " +
        sql_digest(claim_of("bad").id) + " THEN RAISE 'no' USING ERRCODE = '" + code +
        "'; END IF; RETURN NEW; END $$;"
        "CREATE TRIGGER picky BEFORE INSERT ON onceguard.records"
        " FOR EACH ROW EXECUTE FUNCTION public.picky()");
    const auto reply = caller.claims({claim_of("a" + code), claim_of("bad"), claim_of("b" + code)});
    database_.admin().run("DROP TRIGGER picky ON onceguard.records; DROP FUNCTION public.picky()");
    ASSERT_TRUE(reply[0]) << reply[0].error().detail;
    EXPECT_EQ(reply[0]->kind, verdict_kind::run);
    ASSERT_FALSE(reply[1]);
    EXPECT_THAT(reply[1].error().detail, HasSubstr(code));
    ASSERT_TRUE(reply[2]) << reply[2].error().detail;
    EXPECT_EQ(reply[2]->kind, verdict_kind::run);
  }
}

TEST_F(postgres_fault_test, a_claim_whose_floor_is_raised_meanwhile_is_made_again) {
  const auto tested = open();
  blocking_store caller(*tested);
  caller.leased(claim_of("before"));
  // Raises the floor once, between the statement that grants and the one that compares. A sequence
  // is not rolled back with the claim.
  database_.admin().run(
      "CREATE SEQUENCE public.inserts;"
      "CREATE FUNCTION public.raise_floor() RETURNS trigger LANGUAGE plpgsql AS"
      " $$ BEGIN IF nextval('public.inserts') = 1 THEN"
      " UPDATE onceguard.meta SET floor = floor + 1; END IF; RETURN NULL; END $$;"
      "CREATE TRIGGER raise_floor AFTER INSERT ON onceguard.records"
      " FOR EACH ROW EXECUTE FUNCTION public.raise_floor()");
  const auto reply = caller.try_claim(claim_of("k"));
  database_.admin().run("DROP TRIGGER raise_floor ON onceguard.records");
  const auto inserts = database_.admin().value("SELECT last_value FROM public.inserts");
  database_.admin().run("DROP FUNCTION public.raise_floor(); DROP SEQUENCE public.inserts");
  ASSERT_TRUE(reply) << reply.error().detail;
  EXPECT_EQ(reply->kind, verdict_kind::run);
  EXPECT_EQ(inserts, "2") << "the first grant stood";
}

TEST_F(postgres_fault_test, a_server_that_became_read_only_is_unreachable) {
  const auto tested = open();
  blocking_store caller(*tested);
  caller.completed(claim_of("before"));
  database_.admin().run("ALTER DATABASE onceguard SET default_transaction_read_only = on");
  database_.admin().run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
      " WHERE application_name = 'onceguard'");
  const auto verdict = caller.try_claim(claim_of("k"), milliseconds(500));
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, errc::store_unreachable);
  database_.admin().run(
      "SET default_transaction_read_only = off;"
      "ALTER DATABASE onceguard RESET default_transaction_read_only");
  const auto after = claim_until_known(caller, claim_of("k"));
  ASSERT_TRUE(after);
  EXPECT_EQ(after->kind, verdict_kind::run);
}

TEST_F(postgres_fault_test, tokens_still_grow_after_a_restore_of_an_older_copy) {
  const auto tested = open();
  blocking_store caller(*tested);
  const auto first_generation = caller.vitals().generation;
  token last = 0;
  for (int i = 0; i < 20; ++i) last = caller.completed(claim_of("k" + std::to_string(i))).token;
  EXPECT_EQ(caller.vitals().generation, first_generation + 20);
  // The state that a restored snapshot of the disk would bring back.
  database_.admin().run(
      "DELETE FROM onceguard.records; DELETE FROM onceguard.lease_counts;"
      "UPDATE onceguard.meta SET leases = 0, floor = 0");
  database_.admin().run(
      "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
      " WHERE application_name = 'onceguard'");
  EXPECT_EQ(caller.try_claim(claim_of("k0")).error().code, errc::store_lost);
  // Each connection that reopens finds another memory, which has to be polled before claims are
  // granted.
  for (int polls = 0; polls < 100 && !caller.try_claim(claim_of("another")); ++polls)
    caller.vitals();
  for (int i = 0; i < 20; ++i) {
    const auto reply = claim_until_known(caller, claim_of("k" + std::to_string(i)));
    ASSERT_TRUE(reply);
    EXPECT_GT(reply->lease.token, last);
  }
  EXPECT_LT(caller.vitals().generation, first_generation + 40);
}

TEST_F(postgres_fault_test, a_release_that_was_cut_off_is_never_denied) {
  tcp_gate gate(server_.port());
  auto value = params();
  value.url = url_at(gate.port());
  value.connections = 1;
  const auto tested = open(value);
  blocking_store caller(*tested);
  expect_no_release_is_denied(caller, gate);
}

TEST_F(postgres_fault_test, a_stop_finishes_accepted_claims) {
  const auto tested = open();
  boost::asio::io_context context;
  int runs = 0;
  int stopped = 0;
  for (int i = 0; i < 64; ++i) {
    auto count = [&](std::exception_ptr, std::vector<result<verdict>> items) {
      if (items.at(0)) {
        ++runs;
      } else {
        EXPECT_EQ(items.at(0).error().code, errc::stopped);
        ++stopped;
      }
    };
    boost::asio::co_spawn(context, tested->claim({claim_of("k" + std::to_string(i))}, patience),
                          count);
  }
  context.poll();
  tested->stop();
  context.restart();
  context.run();
  EXPECT_EQ(runs + stopped, 64);
  EXPECT_EQ(database_.admin().value("SELECT count(*) FROM onceguard.records"),
            std::to_string(runs));
}

}  // namespace
}  // namespace onceguard::testing
