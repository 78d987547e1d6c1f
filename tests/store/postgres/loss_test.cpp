// Records that are truncated, restored or replaced under an open PostgreSQL store: the store grants
// no lease until its caller has polled the new vitals.
#include <gtest/gtest.h>

#include "store/contract/fault_acts.hpp"
#include "store/postgres/fixture.hpp"
#include "support/tcp_gate.hpp"

namespace onceguard::testing {
namespace {

class postgres_loss_test : public postgres_fixture {
 protected:
  void sql(const std::string& text) { database_.admin().run(text); }
  std::string value(const std::string& text) { return database_.admin().value(text); }
  /// Ends all connections of the store, as connections to a server that is gone end.
  void cut_all() {
    sql("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
        " WHERE application_name = 'onceguard'");
  }
  /// Saves the records and what the database knows of leases, as a dump does. `restore` puts both
  /// back.
  void save() {
    sql("DROP TABLE IF EXISTS public.saved, public.saved_counts, public.saved_meta;"
        "CREATE TABLE public.saved AS SELECT * FROM onceguard.records;"
        "CREATE TABLE public.saved_counts AS SELECT * FROM onceguard.lease_counts;"
        "CREATE TABLE public.saved_meta AS SELECT leases, floor FROM onceguard.meta");
  }
  void restore() {
    sql("BEGIN; DELETE FROM onceguard.records; DELETE FROM onceguard.lease_counts;"
        "INSERT INTO onceguard.records SELECT * FROM public.saved;"
        "INSERT INTO onceguard.lease_counts SELECT * FROM public.saved_counts;"
        "UPDATE onceguard.meta m SET leases = s.leases, floor = s.floor FROM public.saved_meta s;"
        "COMMIT");
  }
  static void expect_lost(blocking_store& caller, const std::string& key) {
    const auto verdict = caller.try_claim(claim_of(key));
    ASSERT_FALSE(verdict) << "a lease was granted";
    EXPECT_EQ(verdict.error().code, errc::store_lost) << verdict.error().detail;
    EXPECT_EQ(verdict.error().effect, effect::none);
  }
  /// Polls until the store grants `request`.
  static verdict known_again(blocking_store& caller, const claim& request) {
    for (int polls = 0; polls < 100; ++polls) {
      caller.vitals();
      if (auto reply = caller.try_claim(request)) return std::move(*reply);
    }
    throw std::logic_error("nothing is granted any more: " +
                           caller.try_claim(request).error().detail);
  }
};

TEST_F(postgres_loss_test, truncated_records_change_the_identity_and_stop_grants_until_polled) {
  const auto tested = open();
  blocking_store caller(*tested);
  const auto last = caller.completed(claim_of("k")).token;
  const auto before = caller.vitals().identity;
  sql("TRUNCATE onceguard.records");
  expect_lost(caller, "k");
  // Nothing is granted yet. One poll returns the new identity; only the poll after that shows that
  // the caller has taken note of the new identity.
  expect_lost(caller, "k");
  EXPECT_NE(caller.vitals().identity, before);
  expect_lost(caller, "k");
  EXPECT_EQ(value("SELECT count(*) FROM onceguard.records"), "0");
  const auto reply = known_again(caller, claim_of("k"));
  EXPECT_EQ(reply.kind, verdict_kind::run);
  EXPECT_GT(reply.lease.token, last);
}

TEST_F(postgres_loss_test, a_recreated_schema_is_used_through_new_sessions) {
  auto parameters = params();
  parameters.connections = 1;  // it is ready; others would still prepare their statements
  const auto tested = open(parameters);
  blocking_store caller(*tested);
  caller.completed(claim_of("k"));
  caller.vitals();
  database_.make_schema_anew();
  const auto verdict = caller.try_claim(claim_of("l"));
  ASSERT_FALSE(verdict);
  EXPECT_NE(verdict.error().code, errc::record_unreadable) << verdict.error().detail;
  EXPECT_EQ(known_again(caller, claim_of("k")).kind, verdict_kind::run);
}

TEST_F(postgres_loss_test, a_claim_that_waited_for_a_truncate_grants_nothing) {
  auto parameters = params();
  parameters.timeout = std::chrono::minutes(2);  // a lock may take a quarter of the timeout
  const auto tested = open(parameters);
  blocking_store caller(*tested);
  caller.completed(claim_of("k"));
  caller.vitals();
  sql_session theirs(database_.url());
  theirs.run("BEGIN; TRUNCATE onceguard.records");
  auto reply = meanwhile([&] {
    blocking_store own(*tested);
    return own.try_claim(claim_of("k"), std::chrono::minutes(2));
  });
  wait_until("the claim", [&] {
    return value(
               "SELECT count(*) FROM pg_locks WHERE NOT granted"
               " AND relation = 'onceguard.records'::regclass") != "0";
  });
  theirs.run("COMMIT");
  const auto answer = reply.get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, errc::store_lost) << answer.error().detail;
}

TEST_F(postgres_loss_test, a_loss_that_a_sweep_finds_still_stops_claims_until_polled) {
  const auto tested = open();
  blocking_store caller(*tested);
  caller.completed(claim_of("k"));
  caller.vitals();
  sql("TRUNCATE onceguard.records");
  for (int i = 0; i < 3; ++i) caller.sweep();
  expect_lost(caller, "k");
}

TEST_F(postgres_loss_test, restored_older_records_stop_the_claims_of_every_connected_store) {
  const auto tested = open();
  const auto neighbour = open();
  blocking_store caller(*tested);
  blocking_store beside(*neighbour);
  caller.completed(claim_of("early"));
  save();
  // The neighbour polled before the lease that will be missing: its own poll cannot show the loss.
  const auto before = beside.vitals();
  const auto last = caller.completed(claim_of("late")).token;
  restore();
  expect_lost(caller, "late");
  wait_until("the new identity", [&] { return caller.vitals().identity != before.identity; });
  expect_lost(beside, "late");
  EXPECT_GT(known_again(caller, claim_of("late")).lease.token, last);
  EXPECT_EQ(known_again(beside, claim_of("late")).kind, verdict_kind::busy);
  EXPECT_EQ(known_again(beside, claim_of("early")).kind, verdict_kind::replay);
}

TEST_F(postgres_loss_test, a_poll_alone_finds_restored_older_records) {
  const auto tested = open();
  blocking_store caller(*tested);
  save();
  const auto before = caller.vitals();
  caller.completed(claim_of("early"));
  caller.completed(claim_of("late"));
  restore();
  caller.sweep();  // a sweep reports nothing to the caller
  const auto after = caller.vitals();
  EXPECT_NE(after.identity, before.identity);
  EXPECT_EQ(after.generation, before.generation) << "by this alone nobody could tell";
  expect_lost(caller, "late");
}

TEST_F(postgres_loss_test, a_lease_granted_after_the_last_poll_counts_toward_the_generation) {
  const auto tested = open();
  blocking_store caller(*tested);
  caller.completed(claim_of("early"));
  save();
  caller.vitals();
  const auto last = caller.completed(claim_of("late")).token;
  restore();  // before the cut: a reopened connection would otherwise read the generation of before
  cut_all();
  expect_lost(caller, "late");
  EXPECT_GT(known_again(caller, claim_of("late")).lease.token, last);
}

TEST_F(postgres_loss_test, a_lease_that_was_taken_over_counts_toward_the_generation) {
  const auto tested = open();
  blocking_store caller(*tested);
  const auto request = claim_of("k");
  caller.settle(settle_of(request, caller.leased(request), settle_kind::release));
  caller.vitals();
  save();
  caller.completed(claim_of("k"));
  restore();  // before the cut: a reopened connection would otherwise read the generation of before
  cut_all();
  expect_lost(caller, "k");
}

TEST_F(postgres_loss_test, another_database_at_the_same_address_grants_no_claim_until_polled) {
  const auto tested = open();
  blocking_store caller(*tested);
  caller.completed(claim_of("k"));
  const auto before = caller.vitals().identity;
  cut_all();
  sql("DELETE FROM onceguard.records; UPDATE onceguard.meta SET identity = 'another'");
  expect_lost(caller, "k");
  EXPECT_EQ(caller.vitals().identity, "another");
  EXPECT_NE(before, "another");
  expect_lost(caller, "k");
  EXPECT_EQ(known_again(caller, claim_of("k")).kind, verdict_kind::run);
  EXPECT_EQ(value("SELECT identity FROM onceguard.meta"), "another");
}

TEST_F(postgres_loss_test, only_claims_are_refused_until_a_loss_is_polled) {
  const auto tested = open();
  blocking_store caller(*tested);
  const auto request = claim_of("k");
  const auto held = caller.leased(request);
  caller.vitals();
  sql("TRUNCATE onceguard.records");
  expect_lost(caller, "l");
  EXPECT_EQ(caller.settle(settle_of(request, held)).outcome, settle_outcome::incident);
  EXPECT_EQ(caller.seen(request.id).state, observed_state::completed);
  expect_lost(caller, "k");
  EXPECT_EQ(known_again(caller, claim_of("k")).kind, verdict_kind::replay);
}

TEST_F(postgres_loss_test, a_lease_granted_while_the_identity_changed_is_rolled_back) {
  auto parameters = params();
  parameters.timeout = std::chrono::minutes(2);
  const auto tested = open(parameters);
  blocking_store caller(*tested);
  const auto request = claim_of("k");
  caller.leased(request);
  save();
  sql("DELETE FROM onceguard.records");
  caller.vitals();
  // The claim waits in the middle of its work, behind another transaction's row of the same key.
  sql_session theirs(database_.url());
  theirs.run("BEGIN; INSERT INTO onceguard.records SELECT * FROM public.saved");
  const auto again = claim_of("k");
  auto reply = meanwhile([&] {
    blocking_store own(*tested);
    return own.try_claim(again, std::chrono::minutes(2));
  });
  wait_until("the claim", [&] {
    return value(
               "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'") !=
           "0";
  });
  sql("UPDATE onceguard.meta SET identity = 'another'");
  EXPECT_EQ(caller.vitals().identity, "another");
  theirs.run("ROLLBACK");
  const auto answer = reply.get();
  ASSERT_FALSE(answer) << "a lease was granted";
  EXPECT_EQ(answer.error().code, errc::store_lost);
  EXPECT_EQ(answer.error().effect, effect::none);
}

TEST_F(postgres_loss_test, a_lease_is_rolled_back_if_older_records_are_restored_during_the_claim) {
  auto parameters = params();
  parameters.timeout = std::chrono::minutes(2);
  const auto tested = open(parameters);
  blocking_store caller_of_test(*tested);
  const auto request = claim_of("k");
  caller_of_test.leased(request);
  sql("DROP TABLE IF EXISTS public.row_of_k;"
      "CREATE TABLE public.row_of_k AS SELECT * FROM onceguard.records;"
      "DELETE FROM onceguard.records");
  save();
  caller_of_test.completed(claim_of("l"));
  const auto last = caller_of_test.completed(claim_of("m")).token;
  caller_of_test.vitals();
  // The claim has found the memory that it expected, and waits behind another transaction's row.
  sql_session theirs(database_.url());
  theirs.run("BEGIN; INSERT INTO onceguard.records SELECT * FROM public.row_of_k");
  auto reply = meanwhile([&] {
    blocking_store own(*tested);
    return own.try_claim(claim_of("k"), std::chrono::minutes(2));
  });
  wait_until("the claim", [&] {
    return value(
               "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'") !=
           "0";
  });
  restore();
  theirs.run("ROLLBACK");
  const auto answer = reply.get();
  ASSERT_FALSE(answer) << "a lease was granted";
  EXPECT_EQ(answer.error().code, errc::store_lost) << answer.error().detail;
  EXPECT_EQ(answer.error().effect, effect::none);
  expect_lost(caller_of_test, "l");
  EXPECT_GT(known_again(caller_of_test, claim_of("m")).lease.token, last);
}

TEST_F(postgres_loss_test, a_lease_that_commits_after_another_memory_was_polled_is_given_back) {
  auto parameters = params();
  parameters.timeout = std::chrono::minutes(2);
  const auto tested = open(parameters);
  blocking_store caller(*tested);
  caller.vitals();
  // The claim has checked its memory, and waits in its commit.
  sql("CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS"
      " $$ BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NULL; END $$;"
      "CREATE CONSTRAINT TRIGGER slow_commit AFTER INSERT ON onceguard.records"
      " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.wait()");
  sql_session theirs(database_.url());
  theirs.run("SELECT pg_advisory_lock(4711)");
  const auto request = claim_of("k");
  auto reply = meanwhile([&] {
    blocking_store own(*tested);
    return own.try_claim(request, std::chrono::minutes(2));
  });
  wait_until("the commit", [&] {
    return value("SELECT count(*) FROM pg_locks WHERE NOT granted AND objid = 4711") != "0";
  });
  sql("UPDATE onceguard.meta SET identity = 'another'");
  EXPECT_EQ(caller.vitals().identity, "another");
  theirs.run("SELECT pg_advisory_unlock(4711)");
  const auto answer = reply.get();
  sql("DROP TRIGGER slow_commit ON onceguard.records; DROP FUNCTION public.wait()");
  ASSERT_FALSE(answer) << "a lease was granted";
  EXPECT_EQ(answer.error().code, errc::store_lost) << answer.error().detail;
  EXPECT_EQ(answer.error().effect, effect::done);
}

TEST_F(postgres_loss_test, a_repeat_gets_no_lease_from_another_memory_than_was_polled) {
  auto parameters = params();
  parameters.timeout = std::chrono::minutes(2);
  const auto tested = open(parameters);
  blocking_store caller(*tested);
  const auto request = claim_of("k");
  caller.leased(request);
  sql("DROP TABLE IF EXISTS public.row_of_k;"
      "CREATE TABLE public.row_of_k AS SELECT * FROM onceguard.records;"
      "DELETE FROM onceguard.records");
  caller.vitals();
  // The repeat finds its own row only when that commits, and then reads it.
  sql_session theirs(database_.url());
  theirs.run("BEGIN; INSERT INTO onceguard.records SELECT * FROM public.row_of_k");
  auto reply = meanwhile([&] {
    blocking_store own(*tested);
    return own.try_claim(request, std::chrono::minutes(2));
  });
  wait_until("the claim", [&] {
    return value(
               "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'") !=
           "0";
  });
  sql_session after_it(database_.url());
  auto locked = meanwhile([&] {
    after_it.run("BEGIN; LOCK TABLE onceguard.records");
    return true;
  });
  const auto waiting = [&](const std::string& mode) {
    return value("SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = '" + mode +
                 "' AND relation = 'onceguard.records'::regclass") != "0";
  };
  wait_until("the lock", [&] { return waiting("AccessExclusiveLock"); });
  theirs.run("COMMIT");
  EXPECT_TRUE(locked.get());
  wait_until("the reading", [&] { return waiting("AccessShareLock"); });
  sql("UPDATE onceguard.meta SET identity = 'another'");
  EXPECT_EQ(caller.vitals().identity, "another");
  after_it.run("COMMIT");
  const auto answer = reply.get();
  ASSERT_FALSE(answer) << "a lease was handed out";
  EXPECT_EQ(answer.error().code, errc::store_lost) << answer.error().detail;
  EXPECT_EQ(answer.error().effect, effect::done);
}

TEST_F(postgres_loss_test, a_claim_whose_reply_was_lost_is_no_loss_of_memory) {
  tcp_gate gate(server_.port());
  auto parameters = params();
  parameters.url = url_at(gate.port());
  parameters.connections = 1;
  const auto tested = open(parameters);
  blocking_store caller(*tested);
  caller.vitals();
  gate.cut_after(direction::to_client, 0);
  // The new session counts the lease already when the claim is sent again.
  EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::run);
  EXPECT_FALSE(gate.armed());
  EXPECT_EQ(value("SELECT count(attempt) FROM onceguard.records"), "0");
}

TEST_F(postgres_loss_test, reconnects_and_a_vacuum_full_are_no_loss) {
  const auto tested = open();
  blocking_store caller(*tested);
  caller.completed(claim_of("k"));
  const auto before = caller.vitals().identity;
  for (int i = 0; i < 3; ++i) {
    cut_all();
    caller.leased(claim_of("n" + std::to_string(i)));
  }
  sql("VACUUM FULL onceguard.meta");
  cut_all();
  EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::replay);
  EXPECT_EQ(caller.vitals().identity, before);
}

}  // namespace
}  // namespace onceguard::testing
