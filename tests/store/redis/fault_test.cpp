// The Redis store while connections break, and while the server hangs, crashes or forgets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/fault_acts.hpp"
#include "store/redis/fixture.hpp"
#include "support/redis_fleet.hpp"
#include "support/tcp_gate.hpp"

namespace onceguard::testing {
namespace {

class redis_fault_test : public redis_fixture {
 protected:
  static redis::redis_params through(const tcp_gate& gate, const std::string& query) {
    return params_for(redis_server::url_at(gate.port(), query));
  }
  /// Waits until the store has met the server once more.
  static std::string identity_of(desk& desk) {
    for (;;) {
      const auto reply = run(desk.at().vitals(patience));
      if (reply) return reply->identity;
    }
  }
};

/// Whatever may expire goes, and a key of somebody else among it. The books of the store stay.
void evict(const redis_server& server) {
  auto admin = server.session();
  admin.run({"SET", "another", "x", "EX", "1000"});
  admin.run({"CONFIG", "SET", "maxmemory-policy", "volatile-ttl"});
  admin.run({"CONFIG", "SET", "maxmemory", "1"});
  wait_until("an eviction", [&] {
    admin.run({"PING"});
    return admin.run({"EXISTS", "another"}) == "0";
  });
  admin.run({"CONFIG", "SET", "maxmemory", "0"});
  admin.run({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
}

class redis_cut_at : public redis_fault_test, public ::testing::WithParamInterface<direction> {};
INSTANTIATE_TEST_SUITE_P(directions, redis_cut_at,
                         ::testing::Values(direction::to_server, direction::to_client),
                         [](const auto& test) {
                           return test.param == direction::to_server ? "to_server" : "to_client";
                         });

TEST_P(redis_cut_at, every_byte_runs_nothing_twice_and_is_recovered_from) {
  tcp_gate gate(server_.port());
  const auto tested = open(through(gate, "connections=1"));
  desk desk(*tested);
  int cuts = 0;
  for (std::uint64_t byte = 0;; byte += 7) {
    gate.cut_after(GetParam(), byte);
    expect_one_run(desk, "k" + std::to_string(byte));
    if (gate.armed()) break;  // longer than the whole conversation
    ++cuts;
  }
  gate.disarm();
  EXPECT_GT(cuts, 20);
  const auto listed = desk.list({}, {}, 1'000).records;
  EXPECT_EQ(listed.size(), static_cast<std::size_t>(cuts + 1));
  for (const auto& each : listed) EXPECT_EQ(each.stored.attempt, 1u);
}

TEST_P(redis_cut_at, every_byte_of_the_beginning_is_recovered_from) {
  tcp_gate gate(server_.port());
  // The scripts, each sent on its own, are many times longer than all the rest.
  const std::pair<std::string, std::uint64_t> ways[] = {{"connections=1", 37},
                                                        {"connections=1&functions=no", 2'503}};
  for (const auto& [query, step] : ways) {
    for (std::uint64_t byte = 0;; byte += step) {
      gate.cut_after(GetParam(), byte);
      const auto tested = open(through(gate, query));
      if (gate.armed()) break;
      desk desk(*tested);
      expect_one_run(desk, query + std::to_string(byte));
    }
    gate.disarm();
  }
}

TEST_F(redis_fault_test, scripts_that_were_flushed_are_loaded_again) {
  auto admin = server_.session();
  for (const std::string query : {"", "functions=no"}) {
    const auto tested = open(server_, query);
    desk desk(*tested);
    for (int i = 0; i < 20; ++i) {
      admin.run({"FUNCTION", "FLUSH"});
      admin.run({"SCRIPT", "FLUSH"});
      expect_one_run(desk, query + std::to_string(i));
    }
  }
}

TEST_F(redis_fault_test, a_library_of_another_text_is_replaced) {
  auto admin = server_.session();
  open();
  const auto ours = admin.run({"FUNCTION", "DUMP"});
  admin.run({"FUNCTION", "FLUSH"});
  admin.run({"FUNCTION", "LOAD",
             "#!lua name=onceguard_2\n"
             "redis.register_function('onceguard_2_greet', function(keys, args)"
             " return {'x-0', 0, 0, 0, 'another'} end)"});
  const auto tested = open();
  desk desk(*tested);
  desk.completed(claim_of("k"));
  EXPECT_EQ(admin.run({"FUNCTION", "DUMP"}), ours);
}

TEST_F(redis_fault_test, a_crash_of_the_server_under_load_loses_and_repeats_nothing) {
  redis_server server({"--appendonly", "yes", "--appendfsync", "always"});
  const auto tested = open(server);
  desk look(*tested);
  const auto identity = identity_of(look);
  run_across_crashes(*tested, 8, 100, [&] {
    server.stop(SIGKILL);
    server.start();
  });
  EXPECT_EQ(identity_of(look), identity);
  for (const auto& each : look.list({}, {}, 100'000).records) {
    EXPECT_EQ(each.stored.attempt, 1u);
    EXPECT_FALSE(each.stored.incident);
  }
}

TEST_F(redis_fault_test, a_server_that_hangs_is_out_of_reach_within_the_timeout) {
  redis_server server;
  auto value = params_for(server.url());
  value.timeout = milliseconds(400);
  const auto tested = open(value);
  desk desk(*tested);
  expect_out_of_reach_while_it_hangs(desk, server);
}

TEST_F(redis_fault_test, a_flush_is_seen_in_the_vitals_and_tokens_go_on) {
  const auto tested = open();
  desk desk(*tested);
  const auto before = desk.vitals();
  const auto last = desk.completed(claim_of("k")).token;
  server_.session().run({"FLUSHALL"});
  EXPECT_NE(desk.vitals().identity, before.identity);
  EXPECT_GT(leased_until_known(desk, claim_of("k")).token, last);
}

TEST_F(redis_fault_test, tokens_go_on_after_a_flush_that_nobody_has_seen_yet) {
  const auto tested = open();
  desk desk(*tested);
  token last = 0;
  for (int i = 0; i < 20; ++i) {
    last = leased_until_known(desk, claim_of("k")).token;
    server_.session().run({"FLUSHALL"});
    const auto next = claim_until_known(desk, claim_of("k"));
    ASSERT_TRUE(next);
    EXPECT_GT(next->lease.token, last);
    server_.session().run({"FLUSHALL"});
  }
}

TEST_F(redis_fault_test, a_restart_without_its_data_is_seen_in_the_vitals) {
  redis_server server;
  const auto tested = open(server);
  desk desk(*tested);
  const auto before = desk.vitals().identity;
  const auto last = desk.completed(claim_of("k")).token;
  server.stop(SIGKILL);
  server.start();
  EXPECT_NE(identity_of(desk), before);
  EXPECT_GT(leased_until_known(desk, claim_of("k")).token, last);
}

TEST_F(redis_fault_test, a_restart_from_older_data_is_noticed_even_after_it_has_caught_up) {
  redis_server server;
  const auto tested = open(server);
  desk desk(*tested);
  const auto before = desk.vitals();
  desk.completed(claim_of("kept"));
  server.session().run({"SAVE"});
  const auto last = desk.completed(claim_of("lost")).token;
  server.stop(SIGKILL);
  server.start();
  const auto reply = claim_until_known(desk, claim_of("lost"));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->kind, verdict_kind::run);
  EXPECT_GT(reply->lease.token, last);
  for (int i = 0; i < 5; ++i) desk.completed(claim_of("k" + std::to_string(i)));
  const auto after = desk.vitals();
  EXPECT_GT(after.generation, before.generation + 4);
  EXPECT_NE(after.identity, before.identity);
  EXPECT_EQ(desk.claim(claim_of("kept")).kind, verdict_kind::replay);
}

TEST_F(redis_fault_test, data_that_goes_back_under_a_connection_is_seen) {
  const auto tested = open(server_, "connections=1");
  desk desk(*tested);
  const auto before = desk.vitals().identity;
  auto admin = server_.session();
  desk.completed(claim_of("k"));
  const auto kept = admin.run({"DUMP", "onceguard:generation"});
  const auto last = desk.completed(claim_of("lost")).token;
  admin.run({"RESTORE", "onceguard:generation", "0", kept, "REPLACE"});
  admin.run({"DEL", name_of(claim_of("lost"))});
  EXPECT_GT(leased_until_known(desk, claim_of("lost")).token, last);
  EXPECT_NE(identity_of(desk), before);
}

class redis_evicts : public redis_fault_test, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(ways, redis_evicts, ::testing::Values("functions=yes", "functions=no"),
                         [](const auto& test) {
                           return std::string(test.param) == "functions=yes" ? "functions"
                                                                             : "scripts";
                         });

TEST_P(redis_evicts, an_evicting_policy_refuses_everything_until_it_is_changed_back) {
  redis_server server;
  const auto tested = open(server, GetParam());
  desk desk(*tested);
  const auto before = desk.vitals().identity;
  server.session().run({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  const auto reply = run(desk.at().vitals(patience));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::store_unreachable);
  EXPECT_THAT(reply.error().detail, ::testing::HasSubstr("maxmemory-policy is allkeys-lru"));
  wait_until("the connections closing", [&] {
    auto refused = desk.try_claim(claim_of("k"), milliseconds(300));
    return !refused && refused.error().code == errc::store_unreachable;
  });
  server.session().run({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  EXPECT_EQ(identity_of(desk), before) << "nothing was evicted";
  const auto granted = claim_until_known(desk, claim_of("k"));
  ASSERT_TRUE(granted);
  EXPECT_EQ(granted->kind, verdict_kind::run);
}

TEST_P(redis_evicts, evicted_keys_are_a_loss_of_memory_also_where_the_metadata_stay) {
  redis_server server;
  const auto tested = open(server, GetParam());
  desk desk(*tested);
  const auto before = desk.vitals().identity;
  const auto last = desk.completed(claim_of("k")).token;
  evict(server);
  const auto after = identity_of(desk);
  EXPECT_NE(after, before);
  EXPECT_EQ(identity_of(desk), after) << "once";
  EXPECT_GT(desk.leased(claim_of("next")).token, last);
  // Counting begins anew with a run of the server, and where somebody resets it.
  server.session().run({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(identity_of(desk), after);
}

TEST_F(redis_fault_test, evictions_that_only_a_new_connection_sees_are_a_loss) {
  redis_server server;
  const auto first = open(server);
  desk before(*first);
  const auto identity = before.vitals().identity;
  first->stop();
  evict(server);
  const auto second = open(server);
  // Before anything is granted by it, and not only when somebody looks.
  EXPECT_EQ(server.session().run({"HGET", "onceguard:store", "losses"}), "1");
  desk position(*second);
  EXPECT_NE(identity_of(position), identity);
}

TEST_F(redis_fault_test, where_copies_are_kept_evictions_are_no_loss) {
  redis_server server;
  auto value = params_for(server.url());
  value.copies_only = true;
  const auto tested = open(value);
  desk desk(*tested);
  const auto before = desk.vitals().identity;
  evict(server);
  EXPECT_EQ(desk.vitals().identity, before);
}

TEST_F(redis_fault_test, a_server_without_room_changes_nothing_and_says_so) {
  redis_server full;
  // One connection: another one might still be greeting the server.
  const auto tested = open(full, "connections=1");
  desk desk(*tested);
  full.session().run({"CONFIG", "SET", "maxmemory", "1"});
  const auto request = claim_of("k");
  const auto verdict = desk.try_claim(request);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, errc::store_full) << verdict.error().detail;
  EXPECT_EQ(verdict.error().effect, effect::none);
  full.session().run({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(desk.claim(request).kind, verdict_kind::run);
}

TEST_F(redis_fault_test, a_promotion_that_is_taken_back_loses_nothing_that_was_confirmed) {
  const redis_server first(patient_replication);
  redis_settings settings = patient_replication;
  settings.insert(settings.end(), {"--replicaof", "127.0.0.1", std::to_string(first.port())});
  const redis_server second(settings);
  const auto attached = [&] { return is_attached(second); };
  wait_until("a replica", attached);
  tcp_gate gate(first.port());
  const auto tested = open(through(gate, "min_replicas=1"));
  desk desk(*tested);
  const auto before = identity_of(desk);
  expect_one_run(desk, "k");

  // A sentinel that calls its failover off has made a master of the replica already.
  auto admin = second.session();
  admin.run({"REPLICAOF", "NO", "ONE"});
  const auto run_of = [](const redis_server& server) {
    const auto reply = server.session().run({"INFO", "server"});
    const auto at_run = reply.find("run_id:") + 7;
    return reply.substr(at_run, reply.find('\r', at_run) - at_run);
  };
  gate.lead_to(second.port());
  wait_until("a greeting", [&] {
    static_cast<void>(desk.try_claim(claim_of("nobody confirms it"), milliseconds(100)));
    return admin.run({"HGET", "onceguard:store", "run"}) == run_of(second);
  });
  admin.run({"REPLICAOF", "127.0.0.1", std::to_string(first.port())});
  wait_until("a replica", attached);
  gate.lead_to(first.port());

  expect_one_run(desk, "l");
  EXPECT_EQ(identity_of(desk), before);
}

TEST_F(redis_fault_test, a_stop_finishes_what_was_accepted) {
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
  const auto look = open();
  EXPECT_EQ(desk(*look).list({}, {}, 1'000).records.size(), static_cast<std::size_t>(runs));
}

}  // namespace
}  // namespace onceguard::testing
