// What a loss of the store's memory means for the processes that come after the one that noticed.
#include "engine/loss_watch.hpp"

#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"

namespace onceguard {
namespace {

using std::chrono::minutes;

class loss_watch_test : public ::testing::Test {
 protected:
  loss_watch start(milliseconds quiet, milliseconds retention) const {
    engine_params params;
    params.state_dir = folder_.path().string();
    params.loss_quiet = quiet;
    params.longest_retention = retention;
    return loss_watch(params);
  }
  const testing::temporary_folder folder_;
  const vitals before_{"one", 1, 0};
  const vitals after_{"another", 1, 0};
};

TEST_F(loss_watch_test, a_restart_with_shorter_rules_shortens_nothing) {
  const auto now = base::boot_now();
  {
    auto first = start(minutes(10), minutes(60));
    first.compare(before_, now);
    ASSERT_EQ(first.compare(after_, now), loss_watch::change::lost);
    EXPECT_EQ(first.refuses_for(now), minutes(10));
  }
  const auto same = start(minutes(1), minutes(1));
  EXPECT_GT(same.refuses_for(now), minutes(9));
  EXPECT_TRUE(same.maybe_repeated(now + minutes(50)));
}

TEST_F(loss_watch_test, another_restart_and_another_loss_shorten_nothing_either) {
  const auto now = base::boot_now();
  {
    auto first = start(minutes(10), minutes(60));
    first.compare(before_, now);
    first.compare(after_, now);
  }
  {
    auto second = start(minutes(1), minutes(1));
    EXPECT_EQ(second.compare(before_, now), loss_watch::change::lost);
    EXPECT_GT(second.refuses_for(now), minutes(9));
  }
  const auto third = start(minutes(1), minutes(1));
  EXPECT_GT(third.refuses_for(now), minutes(9));
  EXPECT_TRUE(third.maybe_repeated(now + minutes(50)));
}

TEST_F(loss_watch_test, an_end_that_lies_too_far_ahead_is_cut_to_the_length_that_the_period_had) {
  const auto now = base::boot_now();
  {
    auto first = start(minutes(1), minutes(2));
    first.compare(before_, now);
    first.compare(after_, now - minutes(60));
  }
  {
    // As after a wall clock that stepped back by an hour.
    witness kept(folder_.path().string());
    auto testimony = kept.read();
    ASSERT_TRUE(testimony);
    const auto end = base::system_clock().wall_ms() + milliseconds(minutes(61)).count();
    testimony->refuse_until_wall = testimony->flagged_until_wall = end;
    kept.write(*testimony);
  }
  const auto next = start(milliseconds(1), milliseconds(1));
  EXPECT_GT(next.refuses_for(now), milliseconds(0));
  EXPECT_LE(next.refuses_for(now), minutes(2));
  EXPECT_FALSE(next.maybe_repeated(now + minutes(4)));
}

}  // namespace
}  // namespace onceguard
