// How long a process whose successor serves stays beyond its drain.
#include "gateway/overtime.hpp"

#include <gtest/gtest.h>

namespace onceguard::gateway {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr overtime::time_point drain_end{seconds(1'000)};
constexpr overtime::work_left unrecorded_away{0, 1, false};
constexpr overtime::work_left unrecorded_up{0, 1, true};

class overtime_rule : public testing::Test {
 protected:
  overtime beyond{drain_end, drain_end + hours(24)};
};

TEST_F(overtime_rule, without_anything_left_there_is_none) {
  EXPECT_FALSE(beyond.needed({0, 0, true}, drain_end));
  EXPECT_FALSE(beyond.needed({0, 0, false}, drain_end));
}

TEST_F(overtime_rule, what_is_unrecorded_is_waited_for_while_the_store_is_away) {
  EXPECT_TRUE(beyond.needed(unrecorded_away, drain_end));
  EXPECT_TRUE(beyond.needed(unrecorded_away, drain_end + hours(2)));
}

TEST_F(overtime_rule, what_a_store_that_is_back_does_not_take_is_not_waited_for) {
  EXPECT_TRUE(beyond.needed(unrecorded_away, drain_end + hours(2)));
  EXPECT_TRUE(beyond.needed(unrecorded_up, drain_end + hours(2) + overtime::patience / 2));
  EXPECT_FALSE(beyond.needed(unrecorded_up, drain_end + hours(2) + overtime::patience));
}

TEST_F(overtime_rule, a_store_whose_absence_was_not_noticed_yet_is_waited_for) {
  EXPECT_TRUE(beyond.needed(unrecorded_up, drain_end));
  EXPECT_FALSE(beyond.needed(unrecorded_up, drain_end + overtime::patience));
}

TEST_F(overtime_rule, a_connection_is_waited_for_only_while_its_request_may_wait_for_the_store) {
  EXPECT_TRUE(beyond.needed({1, 0, false}, drain_end));
  EXPECT_FALSE(beyond.needed({1, 0, true}, drain_end));
}

TEST_F(overtime_rule, records_that_are_gone_by_now_need_nothing) {
  EXPECT_FALSE(beyond.needed(unrecorded_away, drain_end + hours(24)));
}

}  // namespace
}  // namespace onceguard::gateway
