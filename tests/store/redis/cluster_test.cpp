// The Redis store on a Redis Cluster whose slots move and whose masters fail.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/imported_record.hpp"
#include "store/redis/cluster_fixture.hpp"

namespace onceguard::testing {
namespace {

using ::testing::HasSubstr;

class redis_cluster_test : public redis_cluster_fixture {
 protected:
  static std::set<std::string> listed_keys(blocking_store& caller) {
    std::set<std::string> out;
    const auto page = caller.list({}, {}, 100'000);
    for (const auto& each : page.records) {
      EXPECT_TRUE(out.insert(each.stored.about->key).second) << "twice";
    }
    return out;
  }
  void move_some_slots() {
    const auto masters = cluster_.current_masters();
    ++round_;
    for (std::size_t part = 0; part < 256; part += 16) {
      cluster_.move(slot_of(part), *masters[(part / 16 + round_) % masters.size()]);
    }
  }
  /// The master that has `part` of the store, and another master.
  std::pair<redis_server&, redis_server&> owner_and_another(std::size_t part) {
    auto& owner = cluster_.owner_of(slot_of(part));
    for (auto* each : cluster_.current_masters()) {
      if (each != &owner) return {owner, *each};
    }
    throw std::runtime_error("there is one master only");
  }

  std::size_t round_ = 0;
};

TEST_F(redis_cluster_test, records_are_spread_over_all_masters_and_counted_once) {
  const auto tested = open_cluster();
  blocking_store caller(*tested);
  std::set<std::string> keys;
  for (int i = 0; i < 200; ++i) {
    keys.insert("k" + std::to_string(i));
    caller.completed(claim_of("k" + std::to_string(i)));
  }
  for (auto* each : cluster_.current_masters()) {
    EXPECT_GT(std::stoi(each->session().run({"DBSIZE"})), 20);
  }
  EXPECT_EQ(listed_keys(caller), keys);
  EXPECT_EQ(caller.counted(observed_state::completed), keys.size());
}

TEST_F(redis_cluster_test, an_import_with_a_token_too_far_ahead_of_the_clock_is_refused) {
  const auto tested = open_cluster();
  blocking_store caller(*tested);
  caller.completed(claim_of("here"));
  const auto here = caller.find(claim_of("here").id);
  ASSERT_TRUE(here);
  auto request = make_imported_record(*here, 0);
  const auto now = static_cast<token>(base::system_clock().wall_ms()) * 1'000;
  constexpr token hour = 3'600'000'000;
  request.id = claim_of("ahead").id;
  request.stored.token = now + 2 * hour;
  const auto reply = run(tested->import_record(request, patience));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::invalid_argument);
  EXPECT_FALSE(caller.find(request.id));
  request.stored.token = now + hour / 2;
  EXPECT_EQ(caller.import_record(request), import_outcome::imported);
}

TEST_F(redis_cluster_test, one_reachable_node_is_enough_to_find_the_cluster) {
  const auto tested = open(params_for("redis+cluster://127.0.0.1:" + std::to_string(free_port()) +
                                      ",127.0.0.1:" + std::to_string(cluster_.node(4).port())));
  blocking_store caller(*tested);
  for (int i = 0; i < 20; ++i) expect_one_run(caller, "k" + std::to_string(i));
}

TEST_F(redis_cluster_test, a_url_for_the_wrong_kind_of_server_is_refused) {
  const auto refusal = [](const std::string& url) {
    const auto opened = redis::redis_store::open(params_for(url));
    return opened ? error() : opened.error();
  };
  const auto alone = refusal("redis+cluster://127.0.0.1:" + std::to_string(server_.port()));
  EXPECT_EQ(alone.code, errc::store_unreachable);
  EXPECT_THAT(alone.detail, HasSubstr("cluster support disabled"));
  const auto node = refusal(cluster_.node(0).url());
  EXPECT_EQ(node.code, errc::store_unreachable);
  EXPECT_THAT(node.detail, HasSubstr("redis+cluster:"));
}

TEST_F(redis_cluster_test, claims_and_full_scans_work_while_a_slot_is_half_moved) {
  constexpr std::size_t part = 7;
  const auto tested = open_cluster();
  blocking_store caller(*tested);
  const auto claims = claims_in(part, 60);
  for (std::size_t i = 0; i < 20; ++i) caller.completed(claims[i]);
  const auto before = caller.vitals();
  const auto under_way = cluster_.begin_move(slot_of(part), owner_and_another(part).second);
  // New records are created on the node that the slot moves to. Old records are found on both
  // nodes.
  for (std::size_t i = 20; i < 40; ++i) {
    caller.completed(claims[i]);
    if (i == 30) cluster_.move_names(under_way, 10);
    EXPECT_EQ(caller.claim(claim_of(claims[i - 20].about->key)).kind, verdict_kind::replay);
  }
  EXPECT_EQ(listed_keys(caller).size(), 40u);
  EXPECT_EQ(caller.counted(observed_state::completed), 40u);
  EXPECT_EQ(caller.vitals().identity, before.identity);
  cluster_.end_move(under_way);
  for (std::size_t i = 40; i < 60; ++i) caller.completed(claims[i]);
  for (const auto& each : claims) {
    EXPECT_EQ(caller.claim(claim_of(each.about->key)).kind, verdict_kind::replay);
  }
  EXPECT_EQ(listed_keys(caller).size(), 60u);
  EXPECT_EQ(caller.vitals().identity, before.identity);
  const auto other = cluster_.owner_of(slot_of(part)).port();
  EXPECT_EQ(other, under_way.target.port());
}

TEST_F(redis_cluster_test, writes_do_not_wait_for_replicas_because_metadata_have_moved) {
  // A connection counts its writes in the first part whose metadata are on its server.
  const auto tested = open_cluster("min_replicas=1");
  blocking_store caller(*tested);
  auto& source = cluster_.owner_of(slot_of(0));
  caller.completed(claims_in(0, 1).front());
  const auto under_way = cluster_.begin_move(slot_of(0), owner_and_another(0).second);
  source.session().run({"MIGRATE", "127.0.0.1", std::to_string(under_way.target.port()),
                        names_.metadata(0), "0", "5000"});
  for (std::size_t part = 1; part < 64; ++part) {
    if (&cluster_.owner_of(slot_of(part)) == &source) caller.completed(claims_in(part, 1).front());
  }
  cluster_.end_move(under_way);
}

TEST_F(redis_cluster_test, an_operator_can_release_a_record_whose_slot_has_moved) {
  constexpr std::size_t part = 9;
  const auto tested = open_cluster();
  blocking_store caller(*tested);
  const auto request = claims_in(part, 1).front();
  caller.completed(request);
  cluster_.move(slot_of(part), owner_and_another(part).second);
  resolution change;
  change.id = request.id;
  EXPECT_TRUE(caller.resolve(change).forgets_answer);
  EXPECT_EQ(caller.vitals().forgotten, 1u);
  EXPECT_EQ(caller.claim(claim_of(request.about->key)).kind, verdict_kind::run);
}

TEST_F(redis_cluster_test, every_key_runs_once_while_slots_move_under_load) {
  const auto tested = open_cluster();
  blocking_store reader(*tested);
  const auto before = reader.vitals().identity;
  const auto runs = run_across_crashes(*tested, 8, 150, [&] { move_some_slots(); });
  EXPECT_EQ(reader.vitals().identity, before);
  expect_each_once(reader, runs);
}

TEST_F(redis_cluster_test,
       every_key_runs_once_while_slots_move_and_connections_break_with_replicas) {
  const auto tested = open_cluster("min_replicas=1");
  blocking_store reader(*tested);
  const auto before = reader.vitals().identity;
  const auto runs = run_across_crashes(*tested, 8, 150, [&] {
    move_some_slots();
    for (auto* each : cluster_.current_masters()) {
      each->session().run({"CLIENT", "KILL", "TYPE", "normal"});
    }
  });
  EXPECT_EQ(reader.vitals().identity, before);
  expect_each_once(reader, runs);
}

TEST_F(redis_cluster_test, a_slot_can_move_to_a_master_that_has_just_joined) {
  // A separate cluster: the shared cluster stays as it is.
  redis_cluster small(nullptr, false);
  const auto tested = open(params_for(small.url()));
  blocking_store caller(*tested);
  const auto claims = claims_in(3, 30);
  for (std::size_t i = 0; i < 10; ++i) caller.completed(claims[i]);
  auto& fresh = small.join();
  const auto under_way = small.begin_move(slot_of(3), fresh);
  for (std::size_t i = 10; i < 20; ++i) caller.completed(claims[i]);
  EXPECT_EQ(listed_keys(caller).size(), 20u);
  small.end_move(under_way);
  for (std::size_t i = 20; i < 30; ++i) caller.completed(claims[i]);
  EXPECT_EQ(listed_keys(caller).size(), 30u);
}

TEST_F(redis_cluster_test, every_key_runs_once_during_planned_failovers_under_load) {
  take_for_failed_after(milliseconds(2'000));
  const auto tested = open_cluster("min_replicas=1");
  blocking_store reader(*tested);
  const auto before = reader.vitals().identity;
  std::size_t turn = 0;
  const auto runs = run_across_crashes(*tested, 8, 100, [&] {
    const auto masters = cluster_.current_masters();
    hand_over(cluster_.replica_of(*masters[turn++ % masters.size()]));
  });
  expect_each_once(reader, runs);
  EXPECT_EQ(reader.vitals().identity, before);
}

TEST_F(redis_cluster_test, every_key_runs_once_while_masters_crash_under_load) {
  take_for_failed_after(milliseconds(2'000));
  const auto tested = open_cluster("min_replicas=1");
  blocking_store reader(*tested);
  std::size_t turn = 0;
  const auto runs = run_across_crashes(*tested, 8, 100, [&] {
    const auto masters = cluster_.current_masters();
    auto& victim = *masters[turn++ % masters.size()];
    auto& heir = cluster_.replica_of(victim);
    victim.stop(SIGKILL);
    wait_until("the replica to take over", [&] { return is_master(heir); });
    victim.start();
    cluster_.wait_until_whole();
  });
  expect_each_once(reader, runs);
}

TEST_F(redis_cluster_test, a_promoted_replica_counts_as_a_loss_unless_replicas_confirm_writes) {
  take_for_failed_after(milliseconds(2'000));
  const auto tested = open_cluster();
  blocking_store caller(*tested);
  caller.completed(claim_of("k"));
  const auto before = caller.vitals().identity;
  const auto masters = cluster_.current_masters();
  cluster_.move(slot_of(0), *masters[1]);
  EXPECT_EQ(caller.vitals().identity, before) << "a slot that moves is no loss";
  auto& victim = cluster_.owner_of(slot_of(0));
  auto& heir = cluster_.replica_of(victim);
  victim.stop(SIGKILL);
  wait_until("the replica to take over", [&] { return is_master(heir); });
  wait_until("the loss to be seen", [&] {
    const auto reply = run(caller.at().vitals(patience));
    return reply && reply->identity != before;
  });
}

TEST_F(redis_cluster_test, a_flushed_master_changes_the_identity_and_tokens_still_grow) {
  const auto tested = open_cluster();
  blocking_store caller(*tested);
  const auto request = claims_in(0, 1).front();
  const auto last = caller.completed(request).token;
  const auto before = caller.vitals().identity;
  cluster_.owner_of(slot_of(0)).session().run({"FLUSHALL"});
  const auto again = claim_until_known(caller, claim_of(request.about->key));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->kind, verdict_kind::run);
  EXPECT_GT(again->lease.token, last);
  EXPECT_NE(caller.vitals().identity, before);
}

TEST_F(redis_cluster_test, a_master_that_restarts_with_older_data_changes_the_identity) {
  redis_cluster small(nullptr, false);
  const auto tested = open(params_for(small.url()));
  blocking_store caller(*tested);
  auto& old = small.owner_of(slot_of(0));
  const auto claims = claims_in(0, 2);
  caller.completed(claims[0]);
  old.session().run({"SAVE"});
  caller.completed(claims[1]);
  const auto before = caller.vitals().identity;
  old.stop(SIGKILL);
  old.start();
  // The restarted master takes no claims yet. The other masters go on, and so does the sum of all
  // counters.
  std::size_t elsewhere = 1;
  while (&small.owner_of(slot_of(elsewhere)) == &old) ++elsewhere;
  for (const auto& each : claims_in(elsewhere, 20)) caller.completed(each);
  const auto again = claim_until_known(caller, claim_of(claims[1].about->key));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->kind, verdict_kind::run);
  expect_verdict(caller, claim_of(claims[0].about->key), verdict_kind::replay);
  EXPECT_NE(caller.vitals().identity, before);
}

TEST_F(redis_cluster_test, a_hanging_master_delays_only_the_claims_of_its_own_slots) {
  auto value = params_for(cluster_.url());
  value.timeout = milliseconds(3'000);
  const auto tested = open(value);
  blocking_store caller(*tested);
  auto& hanging = cluster_.owner_of(slot_of(0));
  std::vector<claim> others;
  for (std::size_t part = 1; part < 256; part += 8) {
    if (&cluster_.owner_of(slot_of(part)) == &hanging) continue;
    others.push_back(claims_in(part, 1, "p").front());
  }
  ASSERT_GT(others.size(), 10u);
  hanging.pause();
  EXPECT_FALSE(caller.try_claim(claims_in(0, 1).front(), milliseconds(300)));
  for (const auto& request : others) {
    const auto verdict = caller.try_claim(request);
    EXPECT_TRUE(verdict && verdict->kind == verdict_kind::run);
  }
  hanging.go_on();
  cluster_.wait_until_whole();
}

}  // namespace
}  // namespace onceguard::testing
