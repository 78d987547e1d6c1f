// guard_params::on_change: what a service hears of its operations.
#include <mutex>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <onceguard/guard.hpp>
#include <onceguard/testing.hpp>

#include "support/waiting.hpp"

namespace onceguard {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const request transfer{"tenant-1", "key-1", "EUR 20"};

class guard_changes : public ::testing::Test {
 protected:
  guard open(guard_params params = {}) {
    params.on_change = [this](const change& made) { take(made); };
    return guard::open(records.open(), std::move(params)).value();
  }
  std::vector<std::string> seen() {
    const std::lock_guard lock(mutex_);
    return changes_;
  }
  static std::string work() { return "done"; }

  testing::store_in_hand records;
  std::vector<std::string> ids;
  std::vector<std::thread::id> threads;

 private:
  void take(const change& made) {
    const std::lock_guard lock(mutex_);
    std::string text(name_of(made.kind));
    if (!made.reason.empty()) text += " (" + std::string(made.reason) + ")";
    if (made.attempt != 0) text += " " + std::to_string(made.attempt);
    changes_.push_back(std::move(text));
    ids.emplace_back(made.record);
    threads.push_back(std::this_thread::get_id());
  }

  std::mutex mutex_;
  std::vector<std::string> changes_;
};

TEST_F(guard_changes, of_a_run_and_its_repeat_have_record_and_attempt) {
  auto guard = open();
  static_cast<void>(guard.execute(transfer, work));
  static_cast<void>(guard.execute(transfer, work));
  EXPECT_THAT(seen(), ElementsAre("claimed 1", "completed 1", "replayed"));
  EXPECT_EQ(ids[0].size(), 12u);
  EXPECT_THAT(ids, ElementsAre(ids[0], ids[0], ids[0]));
  EXPECT_THAT(threads, ::testing::Each(std::this_thread::get_id()));
}

TEST_F(guard_changes, of_requests_that_are_refused_say_why) {
  auto guard = open();
  static_cast<void>(guard.execute(transfer, [&] {
    static_cast<void>(guard.execute(transfer, work));
    return work();
  }));
  static_cast<void>(guard.execute({"tenant-1", "key-1", "EUR 21"}, work));
  static_cast<void>(guard.execute({"tenant-1", "", "EUR 20"}, work));
  records.set_reachable(false);
  static_cast<void>(guard.execute({"tenant-1", "key-2", "EUR 20"}, work));
  EXPECT_THAT(seen(), ElementsAre("claimed 1", "busy", "completed 1", "mismatch",
                                  "refused (invalid-request)", "refused (store-failed)"));
  EXPECT_EQ(ids[4], "") << "a request without a key has no record";
}

TEST_F(guard_changes, of_work_that_throws_say_what_becomes_of_the_record) {
  guard_params params;
  params.policy.backoff = 30'000ms;
  auto guard = open(std::move(params));
  const auto run = [&](auto thrown) {
    EXPECT_THROW(static_cast<void>(guard.execute(transfer, [&]() -> std::string { throw thrown; })),
                 decltype(thrown));
  };
  run(not_done("no"));
  run(try_later("later"));
  static_cast<void>(guard.execute(transfer, work));
  records.advance(60'000ms);
  run(std::range_error("boom"));
  static_cast<void>(guard.execute(transfer, work));
  EXPECT_THAT(seen(), ElementsAre("claimed 1", "released 1", "claimed 2", "failed 2", "backoff",
                                  "claimed 3", "abandoned (abandoned) 3", "unknown"));
}

TEST_F(guard_changes, of_a_lease_that_is_lost_come_while_the_work_runs) {
  auto guard = open();
  route_policy policy;
  policy.lease = 2'000ms;
  policy.unknown = unknown_policy::rerun;
  static_cast<void>(guard.execute(transfer, policy, [&] {
    records.advance(3'000ms);
    static_cast<void>(guard.execute(transfer, policy, work));
    testing::wait_until("the loss of the lease", [&] { return seen().back() == "lost 1"; });
    return work();
  }));
  EXPECT_THAT(seen(),
              ElementsAre("claimed 1", "claimed 2", "completed 2", "lost 1", "superseded 1"));
}

TEST_F(guard_changes, of_an_end_that_the_store_does_not_record_are_in_doubt) {
  guard_params params;
  params.engine.settle_wait = 10ms;
  auto guard = open(std::move(params));
  const auto got = guard.execute(transfer, [&] {
    records.set_reachable(false);
    return work();
  });
  records.set_reachable(true);
  EXPECT_EQ(got.error().kind, refusal_kind::unrecorded);
  EXPECT_THAT(seen(), ElementsAre("claimed 1", "in_doubt (completed) 1"));
}

TEST_F(guard_changes, of_a_lease_that_is_dropped_say_so) {
  auto guard = open();
  static_cast<void>(guard.claim(transfer, guard.policy()));
  EXPECT_THAT(seen(), ElementsAre("claimed 1", "abandoned (abandoned) 1"));
}

TEST_F(guard_changes, of_an_outcome_that_a_probe_finds_out) {
  guard_params params;
  params.policy.unknown = unknown_policy::probe;
  params.probe = [](const subject&, const lease&) {
    return effect_report{effect_status::done, std::make_shared<answer>(answer{200, {}, "x"}), {}};
  };
  records.make_unknown(transfer);
  auto guard = open(std::move(params));
  static_cast<void>(guard.execute(transfer, work));
  EXPECT_THAT(seen(), ElementsAre("completed (probe) 2", "replayed"));
}

TEST_F(guard_changes, of_jobs_come_too) {
  auto guard = open();
  std::atomic<bool> done{false};
  guard.start<std::string>(
      transfer, guard.policy(), [](job<std::string> job) { std::move(job).finish("done"); },
      [&](const execution<std::string>&) { done = true; });
  testing::wait_until("the end of the job", [&] { return done.load(); });
  EXPECT_THAT(seen(), ElementsAre("claimed 1", "completed 1"));
}

TEST(guard_hook, that_throws_changes_nothing) {
  guard_params params;
  params.on_change = [](const change&) { throw std::runtime_error("hook"); };
  auto guard = guard::open("memory:", std::move(params)).value();
  int runs = 0;
  for (int i = 0; i < 2; ++i) {
    const auto got = guard.execute(transfer, [&] { return std::to_string(++runs); });
    ASSERT_TRUE(got) << got.error().detail;
    EXPECT_EQ(got->value, "1");
  }
}

}  // namespace
}  // namespace onceguard
