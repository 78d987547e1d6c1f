// The Redis store behind sentinels, during failovers and crashes of masters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/redis/cluster_fixture.hpp"

namespace onceguard::testing {
namespace {

using ::testing::HasSubstr;

class redis_sentinel_test : public redis_fixture {
 protected:
  redis_sentinel_test() { fleet_.empty(); }
  ~redis_sentinel_test() override {
    for (auto* each : fleet_.servers()) each->start();
    fleet_.wait_until_whole();
  }

  store_ptr open_fleet(const std::string& query = {}) {
    return open(params_for(fleet_.url(query)));
  }
  static error refusal_of(const std::string& url) {
    auto value = params_for(url);
    value.timeout = milliseconds(2'000);
    const auto opened = redis::redis_store::open(value);
    EXPECT_FALSE(opened);
    return opened ? error() : opened.error();
  }
  void wait_for_another(const redis_server& than) {
    wait_until("another master", [&] { return &fleet_.master() != &than; });
  }
  /// A sentinel may abandon a failover when the other sentinels take too long. The failover is then
  /// requested again.
  void fail_over(const redis_server& server) {
    const auto port = std::to_string(server.port());
    wait_until("a failover", [&] {
      auto position = fleet_.sentinel(0).session();
      if (position.run({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"}) != port) return true;
      try {
        position.run({"SENTINEL", "FAILOVER", "main"});
      } catch (const std::runtime_error&) {  // a failover runs, or no replica is ready
      }
      return false;
    });
    wait_for_another(server);
  }

  static redis_sentinels& shared_fleet() {
    static redis_sentinels all;
    return all;
  }
  redis_sentinels& fleet_ = shared_fleet();
};

TEST_F(redis_sentinel_test,
       an_unknown_master_name_is_refused_and_absent_sentinels_are_unreachable) {
  auto url = fleet_.url();
  url.replace(url.find("/main"), 5, "/other");
  await_reason("no master named other", [&] {
    auto unknown = refusal_of(url);
    EXPECT_EQ(unknown.code, errc::store_unreachable);
    return unknown;
  });
  const auto nobody =
      refusal_of("redis+sentinel://127.0.0.1:" + std::to_string(free_port()) + "/main");
  EXPECT_EQ(nobody.code, errc::store_unreachable);
}

TEST_F(redis_sentinel_test, sentinels_can_have_a_user_and_password_of_their_own) {
  auto& guarded = fleet_.sentinel(0);
  auto admin = guarded.session();
  admin.run({"ACL", "SETUSER", "watcher", "on", ">word", "+auth", "+sentinel|master",
             "+sentinel|sentinels", "+sentinel|get-master-addr-by-name"});
  const auto url = [&](const std::string& query) {
    return "redis+sentinel://127.0.0.1:" + std::to_string(guarded.port()) + "/main?" + query;
  };
  open(params_for(url("sentinel_user=watcher&sentinel_password=word")))->stop();
  const auto why = refusal_of(url("sentinel_user=watcher&sentinel_password=wrong"));
  EXPECT_EQ(why.code, errc::store_unreachable) << why.detail;
  EXPECT_THAT(why.detail, ::testing::Not(HasSubstr("wrong ")));
  admin.run({"ACL", "DELUSER", "watcher"});
}

TEST_F(redis_sentinel_test, every_key_runs_once_during_planned_failovers_under_load) {
  const auto tested = open_fleet("min_replicas=1");
  blocking_store reader(*tested);
  const auto before = reader.vitals().identity;
  const auto runs = run_across_crashes(*tested, 8, 100, [&] {
    auto& old = fleet_.master();
    fail_over(old);
    fleet_.wait_until_whole();
  });
  expect_each_once(reader, runs);
  EXPECT_EQ(reader.vitals().identity, before);
}

TEST_F(redis_sentinel_test, every_key_runs_once_while_masters_crash_under_load) {
  const auto tested = open_fleet("min_replicas=1");
  blocking_store reader(*tested);
  const auto runs = run_across_crashes(*tested, 8, 100, [&] {
    auto& old = fleet_.master();
    old.stop(SIGKILL);
    wait_for_another(old);
    // The old master restarts as a master, until a sentinel makes it a replica.
    old.start();
    fleet_.wait_until_whole();
  });
  expect_each_once(reader, runs);
}

TEST_F(redis_sentinel_test, one_sentinel_in_the_url_is_enough_to_find_the_others) {
  redis_sentinels own;
  const auto tested = open(
      params_for("redis+sentinel://127.0.0.1:" + std::to_string(own.sentinel(0).port()) + "/main"));
  blocking_store caller(*tested);
  caller.completed(claim_of("k"));
  own.sentinel(0).stop();
  auto& old = own.master();
  old.stop(SIGKILL);
  wait_until("another master", [&] { return &own.master() != &old; });
  expect_one_run(caller, "after");
}

TEST_F(redis_sentinel_test, a_sentinel_that_missed_the_latest_failover_is_not_trusted_alone) {
  redis_sentinels own;
  const auto tested = open(params_for(own.url()));
  blocking_store caller(*tested);
  auto& old = own.master();
  own.sentinel(0).stop();
  old.pause();
  wait_until("another master", [&] { return &own.master() != &old; });
  expect_one_run(caller, "k");
  // The other side of a network partition: the only reachable sentinel still knows the old master.
  for (const std::size_t each : {1u, 2u}) own.sentinel(each).pause();
  old.go_on();
  own.sentinel(0).start();
  const auto end = base::boot_now() + std::chrono::milliseconds(1'500);  // for many polls
  while (base::boot_now() < end) {
    const auto verdict = caller.try_claim(claim_of("k"));
    if (verdict) {
      EXPECT_EQ(verdict->kind, verdict_kind::replay);
    }
  }
}

TEST_F(redis_sentinel_test, a_failover_counts_as_a_loss_unless_replicas_confirm_writes) {
  const auto tested = open_fleet();
  blocking_store caller(*tested);
  caller.completed(claim_of("k"));
  const auto before = caller.vitals().identity;
  auto& old = fleet_.master();
  wait_until("the loss to be seen", [&] {
    fail_over(old);  // on a busy machine the sentinels may fail back before the store has connected
    const auto reply = run(caller.at().vitals(patience));
    return reply && reply->identity != before;
  });
}

TEST_F(redis_sentinel_test, a_master_whose_replicas_hang_confirms_no_claim) {
  // The replicas hang: a claim that the master takes now would be lost with the master.
  const auto tested = open_fleet("min_replicas=1");
  blocking_store caller(*tested);
  caller.completed(claim_of("k"));
  auto& master = fleet_.master();
  for (auto* each : fleet_.servers()) {
    if (each != &master) each->pause();
  }
  const auto request = claim_of("alone");
  expect_in_doubt(caller, request, milliseconds(1'500));
  for (auto* each : fleet_.servers()) each->go_on();
  const auto after = claim_until_known(caller, request);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->lease.attempt, 1u);
}

}  // namespace
}  // namespace onceguard::testing
