// A store's work, again and again: each time another of SQLite's calls to its file layer fails.
// Whatever was acknowledged is there afterwards, what was refused without effect did not happen, no
// answer is another, no key is blocked beyond its lease, and the store goes on.
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/sqlite/call_vfs.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/scale.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {
namespace {

using sqlite::sqlite_params;
using sqlite::sqlite_store;
using possible = std::set<std::optional<observed_state>>;

constexpr auto absent = std::optional<observed_state>();
constexpr milliseconds hour{3'600'000};

/// What may be true of the records, by what the store said.
class expectation {
 public:
  /// What the reply says of a change to `next`.
  template <class T>
  bool note(const std::string& key, const result<T>& reply, std::optional<observed_state> next) {
    auto& now = states_.try_emplace(key, possible{absent}).first->second;
    if (reply) {
      now = {next};
    } else if (reply.error().effect == effect::unknown) {
      now.insert(next);
    }
    if (!reply) {
      EXPECT_TRUE(reply.error().retryable()) << key << ": " << reply.error().detail;
    }
    return bool{reply};
  }
  void may_be(const std::string& key, possible states) { states_[key] = std::move(states); }
  [[nodiscard]] const std::map<std::string, possible>& all() const { return states_; }

 private:
  std::map<std::string, possible> states_;
};

class every_call : public ::testing::TestWithParam<call_fault> {
 protected:
  static bool cuts() {
    return GetParam() == call_fault::power || GetParam() == call_fault::torn_power;
  }

  /// The work, in which one call fails.
  class round {
   public:
    explicit round(call_vfs& faults) : faults_(faults) {
      params_.path = folder_.file("store.db");
      params_.clock = &clock_;
      params_.vfs = call_vfs::name;
      params_.checkpoint_pages = 12;
    }

    void work() {
      auto opened = sqlite_store::open(params_);
      if (!opened) {
        EXPECT_FALSE(opened.error().detail.empty());
        if (cuts()) return;
        opened = sqlite_store::open(params_);  // one call failed: the next attempt succeeds
        ASSERT_TRUE(opened) << opened.error().detail;
      }
      store_ = std::move(*opened);
      caller_.emplace(*store_);
      prepare_expired();
      for (int i = 0; i < 3; ++i) each_end(std::to_string(i));
      sweep_and_read();
      each_end("last");
      if (!cuts()) goes_on();
      store_->stop();
      caller_.reset();
      store_.reset();
    }

    void open_again() {
      faults_.heal();
      if (cuts()) {
        faults_.cut_power();
        std::filesystem::remove(params_.path + "-shm");
        clock_.reboot("boot-2");
      }
      auto opened = sqlite_store::open(params_);
      ASSERT_TRUE(opened) << opened.error().detail;
      store_ = std::move(*opened);
      caller_.emplace(*store_);
      for (const auto& [key, states] : expected_.all()) compare(key, states);
      nothing_is_blocked();
    }

   private:
    /// Records whose retention is over, for the sweep.
    void prepare_expired() {
      for (const std::string key : {"old-0", "old-1"}) {
        const auto held = claimed(key);
        expected_.may_be(key, {absent, observed_state::completed, observed_state::in_progress,
                               observed_state::unknown});
        if (!held) continue;
        auto end = settle_of(requests_.at(key), *held);
        end.retention = hour;
        static_cast<void>(caller_->settles({end}));
      }
      clock_.advance(2 * hour);
    }

    std::optional<lease> claimed(const std::string& key) {
      const auto request = claim_of(key);
      requests_.emplace(key, request);
      auto reply = caller_->try_claim(request);
      const bool done = expected_.note(key, reply, observed_state::in_progress);
      if (!done) return std::nullopt;
      EXPECT_EQ(reply->kind, verdict_kind::run) << key;
      return reply->lease;
    }

    void ended(const std::string& key, settle_kind kind, observed_state then) {
      const auto held = claimed(key);
      if (!held) return;
      auto end = settle_of(requests_.at(key), *held, kind);
      if (kind == settle_kind::complete) end.answer = answer_of(key + std::string(3'000, 'a'));
      const auto reply = caller_->settles({end})[0];
      if (expected_.note(key, reply, then)) {
        EXPECT_EQ(reply->outcome, settle_outcome::done) << key;
      }
    }

    void each_end(const std::string& number) {
      ended("complete-" + number, settle_kind::complete, observed_state::completed);
      ended("fail-" + number, settle_kind::fail, observed_state::failed);
      ended("release-" + number, settle_kind::release, observed_state::released);
      ended("abandon-" + number, settle_kind::abandon, observed_state::unknown);
      const std::string key = "renew-" + number;
      if (const auto held = claimed(key)) {
        const auto reply = caller_->extends({extend_of(requests_.at(key), *held)})[0];
        if (expected_.note(key, reply, observed_state::in_progress)) {
          EXPECT_TRUE(*reply) << key;
        }
      }
    }

    void sweep_and_read() {
      const auto swept = caller_->try_sweep(100);
      if (!swept) {
        EXPECT_TRUE(swept.error().retryable()) << swept.error().detail;
      }
      static_cast<void>(caller_->try_vitals());
      for (const auto& [key, states] : expected_.all()) {
        const auto found = caller_->try_find(requests_.at(key).id);
        if (found && states.size() == 1) {
          EXPECT_EQ(*found ? (*found)->state : absent, *states.begin()) << key;
        }
      }
      // A list reads on, whatever failed before it.
      boost::asio::io_context context;
      const auto page = run(context, caller_->at().list({}, {}, 100, patience));
      if (!page) {
        EXPECT_TRUE(page.error().retryable()) << page.error().detail;
      }
    }

    /// One call failed. Whatever that ended, the store works again by itself.
    void goes_on() {
      std::string why;
      for (int turn = 0; turn < 50; ++turn) {
        const auto request = claim_of("goes-on");
        const auto verdict = caller_->try_claim(request);
        if (verdict) return;
        why = verdict.error().detail;
        static_cast<void>(caller_->try_vitals());  // a store that was lost is known to be
      }
      ADD_FAILURE() << "the store does not go on: " << why << ", after " << faults_.failed();
    }

    void compare(const std::string& key, possible states) {
      const auto running = std::optional(observed_state::in_progress);
      if (cuts() && states.contains(running)) {
        states.erase(running);
        states.insert(observed_state::unknown);  // in another boot no lease runs
      }
      const auto found = caller_->try_find(requests_.at(key).id);
      ASSERT_TRUE(found) << key << ": " << found.error().detail;
      const auto state = *found ? (*found)->state : absent;
      EXPECT_THAT(states, ::testing::Contains(state)) << key;
      if (state == observed_state::completed && key.starts_with("complete-")) {
        const auto again = caller_->claim(claim_of(key));
        ASSERT_EQ(again.kind, verdict_kind::replay) << key;
        ASSERT_TRUE(again.answer) << key;
        EXPECT_EQ(*again.answer, *answer_of(key + std::string(3'000, 'a'))) << key;
      }
      // What was in doubt can be repeated: with the same claim id it harms nothing.
      if (states.size() == 2 && states.contains(absent) && !cuts()) {
        const auto again = caller_->try_claim(repeat_of(requests_.at(key)));
        ASSERT_TRUE(again) << key << ": " << again.error().detail;
        EXPECT_EQ(again->kind, verdict_kind::run) << key;
        if (again->kind == verdict_kind::run) {
          EXPECT_EQ(again->lease.claim_id, requests_.at(key).claim_id);
        }
      }
    }

    void nothing_is_blocked() {
      clock_.advance(lease_length + second);
      for (const auto& [key, request] : requests_) {
        const auto verdict = caller_->try_claim(claim_of(key));
        ASSERT_TRUE(verdict) << key << ": " << verdict.error().detail;
        EXPECT_NE(verdict->kind, verdict_kind::busy) << key;
      }
    }

    call_vfs& faults_;
    temporary_folder folder_;
    base::manual_clock clock_;
    sqlite_params params_;
    std::unique_ptr<sqlite_store> store_;
    std::optional<blocking_store> caller_;
    std::map<std::string, claim> requests_;
    expectation expected_;
  };

  call_vfs faults_;
};

TEST_P(every_call, may_fail_and_nothing_acknowledged_is_lost) {
  std::uint64_t met = 0;
  const auto step = scaled_step(1);
  for (std::uint64_t number = 1;; number += step) {
    faults_.fail(GetParam(), number);
    round each(faults_);
    each.work();
    const auto failed = faults_.failed();
    SCOPED_TRACE("call " + std::to_string(number) + ", " + failed);
    each.open_again();
    if (failed.empty()) break;
    ++met;
  }
  EXPECT_GT(met, 10u) << "too little failed to show anything";
  RecordProperty("calls", static_cast<int>(met));
  std::printf("%llu calls failed, one in each run\n", static_cast<unsigned long long>(met));
}

std::string named(const ::testing::TestParamInfo<call_fault>& info) {
  constexpr const char* names[] = {"full", "broken", "torn", "power", "torn_power"};
  return names[static_cast<std::size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(sqlite, every_call,
                         ::testing::Values(call_fault::full, call_fault::broken, call_fault::torn,
                                           call_fault::power, call_fault::torn_power),
                         named);

}  // namespace
}  // namespace onceguard::testing
