// What a subscription makes of a broker's own limits.
#include "messaging/delivery_limits.hpp"
#include "messaging/subscription/subscription_fixture.hpp"

namespace onceguard::testing {
namespace {

using messaging::limit_fault;
using messaging::sum_of_backoffs;
using happened = messaging::subscription_event_kind;

class subscription_limits : public subscription_fixture {
 protected:
  static std::function<batch_worker()> handling() {
    return answering([](const delivered&) { return one_of(inbox_result::handled); });
  }
};

TEST_F(subscription_limits, a_broker_that_delivers_too_seldom_is_refused_with_what_to_set) {
  queue_->traits.deliveries_max = 8;
  queue_->traits.limit_name = "max_deliver";
  params_.attempts = 8;
  const auto done = run_subscription(params_, {}, handling());
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, errc::conflict);
  const auto& why = done.error().detail;
  for (const auto* words : {"8 times at most", "max_deliver", "raise it above 8", "below 8"}) {
    EXPECT_NE(why.find(words), std::string::npos) << words << " in " << why;
  }
}

TEST_F(subscription_limits, one_delivery_more_than_attempts_is_enough) {
  queue_->traits.deliveries_max = 9;
  params_.attempts = 8;
  queue_->put("a", "1");
  EXPECT_TRUE(run(handling(), [&] { return count(happened::settled) == 1; }).has_value());
  EXPECT_EQ(count(happened::last_delivery), 0u);
}

TEST_F(subscription_limits, a_queue_that_keeps_too_shortly_is_refused) {
  queue_->traits.redelivery = milliseconds(60'000);
  params_.attempts = 8;
  params_.backoffs = milliseconds(60'000);
  const auto done = run_subscription(params_, {}, handling());
  ASSERT_FALSE(done.has_value());
  EXPECT_NE(done.error().detail.find("for 1m"), std::string::npos) << done.error().detail;
}

TEST_F(subscription_limits, the_last_delivery_that_the_broker_makes_is_reported) {
  queue_->traits.deliveries_max = 3;
  queue_->put("a", "1");
  queue_->waiting.back().count = 3;
  queue_->put("b", "2");
  queue_->waiting.back().count = 2;
  EXPECT_TRUE(run(handling(), [&] { return count(happened::settled) == 2; }).has_value());
  EXPECT_EQ(count(happened::last_delivery), 1u);
}

TEST_F(subscription_limits, what_the_broker_gave_up_is_reported_once) {
  queue_->dropped = {{"7"}, {"8"}};
  EXPECT_TRUE(run(handling(), [&] {
                return count(happened::backlog) + count(happened::dropped) >= 2;
              }).has_value());
  EXPECT_EQ(count(happened::dropped), 2u);
}

TEST(delivery_limits, backoffs_of_any_length_have_a_sum) {
  inbox_policy policy;
  EXPECT_EQ(sum_of_backoffs(policy), milliseconds(123'000));  // 1, 2, 4, 8, 16, 32, 60 seconds
  policy.attempts = 1;
  EXPECT_EQ(sum_of_backoffs(policy), milliseconds(0));
  constexpr milliseconds year{365LL * 24 * 3'600'000};
  policy.attempts = 0xffff'ffff;
  EXPECT_EQ(sum_of_backoffs(policy), year);
  policy.backoff = policy.backoff_max = milliseconds::max();
  EXPECT_EQ(sum_of_backoffs(policy), year);
}

TEST(delivery_limits, nobody_counts_and_no_limit_are_no_fault) {
  messaging::consumer_traits traits;
  EXPECT_EQ(limit_fault(traits, 1'000, milliseconds(1'000)), "");
  traits.deliveries_max = 1;
  EXPECT_EQ(limit_fault(traits, 0, milliseconds(0)), "");
  EXPECT_NE(limit_fault(traits, 1, milliseconds(0)).find("1 time at most"), std::string::npos);
}

}  // namespace
}  // namespace onceguard::testing
