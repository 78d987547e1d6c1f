// The Redis store while connections break, and while the server hangs, crashes or loses its data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/fault_acts.hpp"
#include "store/redis/fixture.hpp"
#include "support/redis_fleet.hpp"
#include "support/scale.hpp"
#include "support/tcp_gate.hpp"

namespace onceguard::testing {
namespace {

class redis_fault_test : public redis_fixture {
 protected:
  static redis::redis_params through(const tcp_gate& gate, const std::string& query = {}) {
    return params_for(redis_server::url_at(gate.port(), query));
  }
  /// Polls until the store answers, and returns the store's identity.
  static std::string identity_of(blocking_store& caller) {
    for (;;) {
      const auto reply = run(caller.at().vitals(patience));
      if (reply) return reply->identity;
    }
  }
};

class redis_cut_at : public redis_fault_test, public ::testing::WithParamInterface<direction> {};
INSTANTIATE_TEST_SUITE_P(directions, redis_cut_at,
                         ::testing::Values(direction::to_server, direction::to_client),
                         [](const auto& test) {
                           return test.param == direction::to_server ? "to_server" : "to_client";
                         });

TEST_P(redis_cut_at, a_cut_at_any_byte_runs_nothing_twice_and_is_recovered_from) {
  tcp_gate gate(server_.port());
  const auto tested = open(through(gate));
  blocking_store caller(*tested);
  int cuts = 0;
  for (std::uint64_t byte = 0;; byte += scaled_step(7)) {
    gate.cut_after(GetParam(), byte);
    expect_one_run(caller, "k" + std::to_string(byte));
    if (gate.armed()) break;  // `byte` is beyond the end of the conversation
    ++cuts;
  }
  gate.disarm();
  EXPECT_GT(cuts, scaled(20));
  const auto listed = caller.list({}, {}, 1'000).records;
  EXPECT_EQ(listed.size(), static_cast<std::size_t>(cuts + 1));
  for (const auto& each : listed) EXPECT_EQ(each.stored.attempt, 1u);
}

TEST_P(redis_cut_at, a_cut_at_any_byte_while_opening_is_recovered_from) {
  tcp_gate gate(server_.port());
  for (std::uint64_t byte = 0;; byte += scaled_step(37)) {
    gate.cut_after(GetParam(), byte);
    const auto tested = open(through(gate));
    if (gate.armed()) break;
    blocking_store caller(*tested);
    expect_one_run(caller, std::to_string(byte));
  }
  gate.disarm();
}

TEST_F(redis_fault_test, flushed_scripts_are_loaded_again) {
  auto admin = server_.session();
  const auto tested = open();
  blocking_store caller(*tested);
  for (int i = 0; i < 20; ++i) {
    admin.run({"SCRIPT", "FLUSH"});
    expect_one_run(caller, std::to_string(i));
  }
}

TEST_F(redis_fault_test, a_server_crash_under_load_loses_and_repeats_nothing) {
  redis_server server({"--appendonly", "yes", "--appendfsync", "always"});
  const auto tested = open(server);
  blocking_store reader(*tested);
  const auto identity = identity_of(reader);
  run_across_crashes(*tested, 8, 100, [&] {
    server.stop(SIGKILL);
    server.start();
  });
  EXPECT_EQ(identity_of(reader), identity);
  for (const auto& each : reader.list({}, {}, 100'000).records) {
    EXPECT_EQ(each.stored.attempt, 1u);
    EXPECT_FALSE(each.stored.incident);
  }
}

TEST_F(redis_fault_test, a_hanging_server_is_reported_unreachable_within_the_timeout) {
  redis_server server;
  auto value = params_for(server.url());
  value.timeout = milliseconds(1'000);
  store_ptr tested;
  wait_until("a server that answers within the timeout", [&] {
    tested = open(value);
    return true;
  });
  blocking_store caller(*tested);
  expect_out_of_reach_while_it_hangs(caller, server);
}

TEST_F(redis_fault_test, a_flush_changes_the_identity_and_tokens_still_grow) {
  const auto tested = open();
  blocking_store caller(*tested);
  const auto before = caller.vitals();
  const auto last = caller.completed(claim_of("k")).token;
  server_.session().run({"FLUSHALL"});
  EXPECT_NE(caller.vitals().identity, before.identity);
  EXPECT_GT(leased_until_known(caller, claim_of("k")).token, last);
}

TEST_F(redis_fault_test, tokens_still_grow_after_a_flush_that_no_poll_has_noticed) {
  const auto tested = open();
  blocking_store caller(*tested);
  token last = 0;
  for (int i = 0; i < 20; ++i) {
    last = leased_until_known(caller, claim_of("k")).token;
    server_.session().run({"FLUSHALL"});
    const auto next = claim_until_known(caller, claim_of("k"));
    ASSERT_TRUE(next);
    EXPECT_GT(next->lease.token, last);
    server_.session().run({"FLUSHALL"});
  }
}

TEST_F(redis_fault_test, a_restart_without_data_changes_the_identity) {
  redis_server server;
  const auto tested = open(server);
  blocking_store caller(*tested);
  const auto before = caller.vitals().identity;
  const auto last = caller.completed(claim_of("k")).token;
  server.stop(SIGKILL);
  server.start();
  EXPECT_NE(identity_of(caller), before);
  EXPECT_GT(leased_until_known(caller, claim_of("k")).token, last);
}

TEST_F(redis_fault_test,
       a_restart_from_older_data_changes_the_identity_even_at_a_higher_generation) {
  redis_server server;
  const auto tested = open(server);
  blocking_store caller(*tested);
  const auto before = caller.vitals();
  caller.completed(claim_of("kept"));
  server.session().run({"SAVE"});
  const auto last = caller.completed(claim_of("lost")).token;
  server.stop(SIGKILL);
  server.start();
  const auto reply = claim_until_known(caller, claim_of("lost"));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->kind, verdict_kind::run);
  EXPECT_GT(reply->lease.token, last);
  for (int i = 0; i < 5; ++i) caller.completed(claim_of("k" + std::to_string(i)));
  const auto after = caller.vitals();
  EXPECT_GT(after.generation, before.generation + 4);
  EXPECT_NE(after.identity, before.identity);
  EXPECT_EQ(caller.claim(claim_of("kept")).kind, verdict_kind::replay);
}

TEST_F(redis_fault_test, data_rolled_back_under_an_open_connection_change_the_identity) {
  const auto tested = open(server_);
  blocking_store caller(*tested);
  const auto before = caller.vitals().identity;
  auto admin = server_.session();
  caller.completed(claim_of("k"));
  const auto kept = admin.run({"DUMP", "onceguard:store"});
  const auto last = caller.completed(claim_of("lost")).token;
  admin.run({"RESTORE", "onceguard:store", "0", kept, "REPLACE"});
  admin.run({"DEL", name_of(claim_of("lost"))});
  EXPECT_GT(leased_until_known(caller, claim_of("lost")).token, last);
  EXPECT_NE(identity_of(caller), before);
}

TEST_F(redis_fault_test, data_rolled_back_by_a_single_batch_grant_nothing) {
  const auto tested = open(server_);
  blocking_store caller(*tested);
  auto admin = server_.session();
  caller.completed(claim_of("k"));
  const auto kept = admin.run({"DUMP", "onceguard:store"});
  caller.leased(claim_of("lost"));
  admin.run({"RESTORE", "onceguard:store", "0", kept, "REPLACE"});
  admin.run({"DEL", name_of(claim_of("lost"))});
  const auto verdict = caller.try_claim(claim_of("lost"));
  ASSERT_FALSE(verdict) << "a lease was granted";
  EXPECT_EQ(verdict.error().code, errc::store_lost);
  EXPECT_EQ(verdict.error().effect, effect::done);
}

TEST_F(redis_fault_test, a_server_set_to_evict_keys_is_unreachable_until_noeviction_is_set_again) {
  redis_server server;
  const auto tested = open(server);
  blocking_store caller(*tested);
  const auto before = caller.vitals().identity;
  server.session().run({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  const auto reply = run(caller.at().vitals(patience));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::store_unreachable);
  EXPECT_THAT(reply.error().detail, ::testing::HasSubstr("maxmemory-policy is allkeys-lru"));
  wait_until("the connections closing", [&] {
    auto refused = caller.try_claim(claim_of("k"), milliseconds(300));
    return !refused && refused.error().code == errc::store_unreachable;
  });
  server.session().run({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  EXPECT_EQ(identity_of(caller), before) << "nothing was evicted";
  const auto granted = claim_until_known(caller, claim_of("k"));
  ASSERT_TRUE(granted);
  EXPECT_EQ(granted->kind, verdict_kind::run);
}

TEST_F(redis_fault_test, evicted_keys_change_the_identity_even_if_the_metadata_stay) {
  redis_server server;
  const auto tested = open(server);
  blocking_store caller(*tested);
  const auto before = caller.vitals().identity;
  const auto last = caller.completed(claim_of("k")).token;
  evict(server);
  const auto after = identity_of(caller);
  EXPECT_NE(after, before);
  EXPECT_EQ(identity_of(caller), after) << "once";
  EXPECT_GT(caller.leased(claim_of("next")).token, last);
  // The server's count of evictions starts again at 0 with a restart or a CONFIG RESETSTAT.
  server.session().run({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(identity_of(caller), after);
}

TEST_F(redis_fault_test, evictions_while_no_store_was_open_change_the_identity) {
  redis_server server;
  const auto first = open(server);
  blocking_store before(*first);
  const auto identity = before.vitals().identity;
  first->stop();
  evict(server);
  const auto second = open(server);
  // The loss is counted before the new connection grants a claim, and not first at a poll.
  EXPECT_EQ(server.session().run({"HGET", "onceguard:store", "losses"}), "1");
  blocking_store caller(*second);
  EXPECT_NE(identity_of(caller), identity);
}

TEST_F(redis_fault_test, evictions_are_no_loss_in_a_store_of_copies) {
  redis_server server;
  auto value = params_for(server.url());
  value.copies_only = true;
  const auto tested = open(value);
  blocking_store caller(*tested);
  const auto before = caller.vitals().identity;
  evict(server);
  EXPECT_EQ(caller.vitals().identity, before);
}

TEST_F(redis_fault_test, a_server_without_room_reports_store_full_and_changes_nothing) {
  redis_server full;
  // Only one connection: a second one might still be setting up.
  const auto tested = open(full);
  blocking_store caller(*tested);
  full.session().run({"CONFIG", "SET", "maxmemory", "1"});
  const auto request = claim_of("k");
  const auto verdict = caller.try_claim(request);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, errc::store_full) << verdict.error().detail;
  EXPECT_EQ(verdict.error().effect, effect::none);
  full.session().run({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(caller.claim(request).kind, verdict_kind::run);
}

TEST_F(redis_fault_test, a_promotion_that_is_taken_back_loses_no_confirmed_claim) {
  const redis_server first(patient_replication);
  redis_settings settings = patient_replication;
  settings.insert(settings.end(), {"--replicaof", "127.0.0.1", std::to_string(first.port())});
  const redis_server second(settings);
  const auto attached = [&] { return is_attached(second); };
  wait_until("a replica", attached);
  tcp_gate gate(first.port());
  const auto tested = open(through(gate, "min_replicas=1"));
  blocking_store caller(*tested);
  const auto before = identity_of(caller);
  expect_one_run(caller, "k");

  // A sentinel that abandons a failover has already promoted the replica.
  auto admin = second.session();
  admin.run({"REPLICAOF", "NO", "ONE"});
  const auto run_of = [](const redis_server& server) {
    const auto reply = server.session().run({"INFO", "server"});
    const auto at_run = reply.find("run_id:") + 7;
    return reply.substr(at_run, reply.find('\r', at_run) - at_run);
  };
  gate.lead_to(second.port());
  wait_until("a greeting", [&] {
    static_cast<void>(caller.try_claim(claim_of("nobody confirms it"), milliseconds(100)));
    return admin.run({"HGET", "onceguard:store", "run"}) == run_of(second);
  });
  admin.run({"REPLICAOF", "127.0.0.1", std::to_string(first.port())});
  wait_until("a replica", attached);
  gate.lead_to(first.port());

  expect_one_run(caller, "l");
  EXPECT_EQ(identity_of(caller), before);
}

TEST_F(redis_fault_test, a_release_that_was_cut_off_is_never_denied) {
  tcp_gate gate(server_.port());
  const auto tested = open(through(gate));
  blocking_store caller(*tested);
  expect_no_release_is_denied(caller, gate);
}

TEST_F(redis_fault_test, a_stop_finishes_accepted_claims) {
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
  const auto reopened = open();
  EXPECT_EQ(blocking_store(*reopened).list({}, {}, 1'000).records.size(),
            static_cast<std::size_t>(runs));
}

}  // namespace
}  // namespace onceguard::testing
