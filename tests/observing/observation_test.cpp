#include "observing/observation.hpp"

#include <thread>

#include <gtest/gtest.h>

#include "base/hash.hpp"
#include "support/manual_clock.hpp"

namespace onceguard::observing {
namespace {

using http::request_outcome;

digest digest_of(std::string_view text) { return base::sha256_of(text); }

constexpr ending completed{settle_kind::complete, true};
constexpr ending released{settle_kind::release, false};
constexpr ending failed{settle_kind::fail, false};
constexpr ending in_doubt{settle_kind::abandon, false};

class observed : public testing::Test {
 protected:
  sighting see(std::string_view key, std::string_view content) {
    return watched.see(policy, key, digest_of("ann"), digest_of(content));
  }
  sighting see_bare(std::string_view content, std::string_view scope = "ann") {
    return watched.see_without_key(digest_of(scope), digest_of(content));
  }
  sighting end(const sighting& seen, const ending& ended = completed) {
    watched.settle(policy, seen, ended);
    watched.count("/pay", seen, ended);
    return seen;
  }
  request_outcome outcome(std::string_view key, std::string_view content,
                          const ending& ended = completed) {
    return end(see(key, content), ended).would_be;
  }
  route_counts counts() { return watched.counts().at("/pay"); }

  route_policy policy;
  base::manual_clock clock;
  observation watched{clock};
};

TEST_F(observed, a_repeat_of_a_completed_key_would_be_replayed) {
  EXPECT_EQ(outcome("k", "body"), request_outcome::ran);
  clock.advance(milliseconds(700));
  EXPECT_EQ(outcome("k", "body"), request_outcome::replayed);
  EXPECT_EQ(counts().repeats, 1u);
  EXPECT_EQ(counts().repeats_run_again, 1u);
  EXPECT_EQ(counts().repeat_delays.counts()[1], 1u);  // up to one second
}

TEST_F(observed, the_largest_durations_are_for_ever) {
  policy.retention = policy.unknown_retention = policy.backoff = milliseconds::max();
  EXPECT_EQ(outcome("k", "body"), request_outcome::ran);
  EXPECT_EQ(outcome("lost", "body", in_doubt), request_outcome::ran);
  EXPECT_EQ(outcome("later", "body", failed), request_outcome::ran);
  clock.advance(std::chrono::hours(1));
  EXPECT_EQ(outcome("k", "body"), request_outcome::replayed);
  EXPECT_EQ(outcome("lost", "body"), request_outcome::unknown);
  EXPECT_EQ(outcome("later", "body"), request_outcome::backoff);
}

TEST_F(observed, a_repeat_of_a_running_key_is_busy_or_waits) {
  const auto first = see("k", "body");
  EXPECT_EQ(outcome("k", "body"), request_outcome::busy);
  policy.on_busy = on_busy_rule::wait;
  EXPECT_EQ(outcome("k", "body"), request_outcome::waited);
  end(first);
  EXPECT_EQ(outcome("k", "body"), request_outcome::replayed);
}

TEST_F(observed, another_content_under_a_key_is_a_mismatch_in_every_state) {
  const auto first = see("k", "body");
  EXPECT_EQ(outcome("k", "other"), request_outcome::mismatch);
  end(first);
  EXPECT_EQ(outcome("k", "other"), request_outcome::mismatch);
  outcome("failed", "body", failed);
  EXPECT_EQ(outcome("failed", "other"), request_outcome::mismatch);
  outcome("unknown", "body", in_doubt);
  EXPECT_EQ(outcome("unknown", "other"), request_outcome::mismatch);
}

TEST_F(observed, a_released_key_runs_again_with_any_content) {
  outcome("k", "body", released);
  EXPECT_EQ(outcome("k", "other"), request_outcome::ran);
}

TEST_F(observed, a_failed_key_runs_again_after_its_back_off) {
  outcome("k", "body", failed);
  EXPECT_EQ(outcome("k", "body"), request_outcome::backoff);
  clock.advance(policy.backoff);
  EXPECT_EQ(outcome("k", "body"), request_outcome::ran);
  EXPECT_EQ(outcome("k", "body"), request_outcome::replayed);
}

TEST_F(observed, a_key_in_doubt_is_unknown_unless_the_route_runs_it_again) {
  outcome("k", "body", in_doubt);
  clock.advance(policy.retention * 10);
  EXPECT_EQ(outcome("k", "body"), request_outcome::unknown);
  policy.unknown = unknown_policy::rerun;
  EXPECT_EQ(outcome("k", "body"), request_outcome::ran);
}

TEST_F(observed, a_key_runs_again_after_its_retention) {
  outcome("k", "body");
  clock.advance(policy.retention - milliseconds(1));
  EXPECT_EQ(outcome("k", "body"), request_outcome::replayed);
  clock.advance(milliseconds(1));
  EXPECT_EQ(outcome("k", "other"), request_outcome::ran);
}

TEST_F(observed, the_answer_of_a_repeat_does_not_change_its_record) {
  outcome("k", "body");
  EXPECT_EQ(outcome("k", "body", in_doubt), request_outcome::replayed);
  EXPECT_EQ(outcome("k", "body"), request_outcome::replayed);
  EXPECT_EQ(counts().repeats_run_again, 1u);  // one of the two was no success
}

TEST_F(observed, contents_without_a_key_that_repeat_are_counted_within_a_window) {
  end(see_bare("body"));
  end(see_bare("body", "bob"));
  end(see_bare("other"));
  EXPECT_EQ(counts().contents_without_key, 0u);
  clock.advance(observation::content_window);
  EXPECT_TRUE(end(see_bare("body")).same_content);
  clock.advance(milliseconds(1));
  EXPECT_FALSE(end(see_bare("body")).same_content);
  EXPECT_EQ(counts().contents_without_key, 1u);
  EXPECT_EQ(counts().contents_run_again, 1u);
  EXPECT_EQ(counts().with_key, 0u);
}

TEST_F(observed, a_content_under_another_key_is_counted_once_for_each_key) {
  outcome("a", "body");
  outcome("a", "body");
  outcome("b", "body");
  outcome("b", "body");
  EXPECT_EQ(counts().contents_with_another_key, 1u);
  EXPECT_EQ(counts().repeats, 2u);
}

TEST_F(observed, parallel_repeats_ran_again_whichever_ends_first) {
  const auto first = see("k", "body");
  const auto early = see("k", "body");
  const auto late = see("k", "body");
  const auto without_success = see("k", "body");
  end(early);
  EXPECT_EQ(counts().repeats_run_again, 0u);  // the first one may still fail
  end(without_success, in_doubt);
  end(first);
  EXPECT_EQ(counts().repeats_run_again, 1u);
  end(late);
  EXPECT_EQ(counts().repeats_run_again, 2u);
}

TEST_F(observed, parallel_repeats_of_one_without_success_did_not_run_again) {
  const auto first = see("k", "body");
  const auto early = see("k", "body");
  const auto late = see("k", "body");
  end(early);
  end(first, in_doubt);
  end(late);
  EXPECT_EQ(counts().repeats, 2u);
  EXPECT_EQ(counts().repeats_run_again, 0u);
}

TEST_F(observed, parallel_contents_ran_again_whichever_ends_first) {
  const auto first = see_bare("body");
  const auto early = see_bare("body");
  const auto late = see_bare("body");
  end(early);
  end(first);
  end(late);
  EXPECT_EQ(counts().contents_without_key, 2u);
  EXPECT_EQ(counts().contents_run_again, 2u);
}

TEST_F(observed, a_key_that_runs_again_in_success_ran_again) {
  policy.unknown = unknown_policy::rerun;
  outcome("k", "body", {settle_kind::abandon, true});
  EXPECT_EQ(outcome("k", "body"), request_outcome::ran);
  EXPECT_EQ(counts().repeats_run_again, 1u);
}

TEST_F(observed, a_key_that_was_released_is_no_other_key_of_its_content) {
  outcome("k", "body", released);
  EXPECT_EQ(outcome("k", "body"), request_outcome::ran);
  EXPECT_EQ(counts().contents_with_another_key, 0u);
  outcome("other", "body");
  EXPECT_EQ(counts().contents_with_another_key, 1u);
  EXPECT_EQ(counts().contents_run_again, 1u);
}

TEST_F(observed, memory_is_bounded_and_the_oldest_leave) {
  observation small(clock, 64);
  const auto see_in = [&](int number) {
    const auto text = std::to_string(number);
    const auto seen = small.see(policy, text, digest_of("ann"), digest_of(text));
    small.settle(policy, seen, completed);
    return seen.would_be;
  };
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(see_in(i), request_outcome::ran);
  EXPECT_EQ(see_in(9'999), request_outcome::replayed);
  EXPECT_EQ(see_in(0), request_outcome::ran);
}

TEST_F(observed, threads_lose_no_count) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2'000; ++i) outcome(std::to_string(i), "body");
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counts().requests, 8'000u);
  EXPECT_EQ(counts().would_be[static_cast<std::size_t>(request_outcome::ran)], 2'000u);
  EXPECT_EQ(counts().repeats, 6'000u);
}

TEST_F(observed, the_json_has_each_route_with_its_counts) {
  EXPECT_EQ(watched.json(),
            R"({"since_ms":1700000000000,"content_window_ms":3600000,"routes":[]})");
  outcome("k", "body");
  auto refused = sighting{};
  refused.would_be = request_outcome::refused;
  refused.problem = "key-missing";
  watched.count("shop/\"", refused, completed);
  const auto text = watched.json();
  EXPECT_NE(text.find(R"("route":"/pay","requests":1,"with_key":1)"), text.npos) << text;
  EXPECT_NE(text.find(R"("route":"shop/\"")"), text.npos) << text;
  EXPECT_NE(text.find(R"("problems":{"key-missing":1})"), text.npos) << text;
}

TEST(observation_of_scopes, counts_who_comes_again_as_somebody_else) {
  observation watched;
  const route_policy policy;
  const auto see = [&](std::string_view key, std::string_view scope, std::string_view content) {
    const auto seen = watched.see(policy, key, digest_of(scope), digest_of(content));
    watched.count("/", seen, {settle_kind::complete, true});
    return seen.other_scope;
  };
  EXPECT_FALSE(see("k", "ann", "a"));
  EXPECT_FALSE(see("k", "ann", "a")) << "a repeat";
  EXPECT_TRUE(see("k", "ann's new token", "a"));
  EXPECT_FALSE(see("k", "bob", "another body"));
  EXPECT_FALSE(see("another key", "bob", "a"));
  EXPECT_EQ(watched.counts().at("/").other_scopes, 1u);
}

}  // namespace
}  // namespace onceguard::observing
