// The limits of the durations of `execute`, on each database alike: the largest mean "for ever",
// the smallest count, and what is no duration is refused before anything runs.
#include <future>

#include "execute/execute_fixture.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

constexpr milliseconds possible[] = {milliseconds(1), milliseconds::max() - milliseconds(1),
                                     milliseconds::max()};
constexpr milliseconds impossible[] = {milliseconds(-1), milliseconds::min()};
constexpr milliseconds execute_policy::*durations[] = {
    &execute_policy::wait, &execute_policy::retention, &execute_policy::lease};

class execute_limits : public execute_fixture {
 protected:
  steps_work one_step() {
    return [this](steps& flow) {
      return receipt(flow.step("one", [&] {
        ++runs_;
        till_->charge("ada");
        return std::string("done");
      }));
    };
  }
};

TEST_P(execute_limits, every_possible_duration_lets_work_run_once) {
  int keys = 0;
  for (const auto member : durations) {
    for (const auto length : possible) {
      execute_policy policy;
      policy.*member = length;
      const bool kept = member != &execute_policy::retention || length > milliseconds(1);
      for (const bool in_steps : {false, true}) {
        const request order{"ada", "order-" + std::to_string(++keys)};
        runs_ = 0;
        for (int i = 0; i < 2; ++i) {
          const auto reply = in_steps ? till_->execute_steps(order, policy, one_step())
                                      : till_->execute(order, policy, charging(*till_, "ada"));
          ASSERT_TRUE(reply) << reply.error().detail;
          if (!kept) break;
          EXPECT_EQ(reply->kind, i == 0 ? verdict_kind::run : verdict_kind::replay);
        }
        EXPECT_EQ(runs_, 1) << length.count();
      }
    }
  }
}

TEST_P(execute_limits, what_is_no_duration_is_refused) {
  for (const auto member : durations) {
    for (const auto length : impossible) {
      execute_policy policy;
      policy.*member = length;
      for (const auto& reply : {till_->execute(order_, policy, charging(*till_, "ada")),
                                till_->execute_steps(order_, policy, one_step())}) {
        ASSERT_FALSE(reply);
        EXPECT_EQ(reply.error().code, errc::invalid_argument);
      }
    }
  }
  EXPECT_EQ(runs_, 0);
}

TEST_P(execute_limits, the_longest_lease_of_steps_lets_nobody_else_run) {
  execute_policy policy = reported_at_once();
  policy.lease = milliseconds::max();
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, policy,
                                                      [&](steps& flow) -> answer {
                                                        flow.step("one", [] { return "done"; });
                                                        const auto twin = open()->execute_steps(
                                                            order_, policy, one_step());
                                                        EXPECT_EQ(twin->kind, verdict_kind::busy);
                                                        throw card_declined();
                                                      })),
               card_declined);
  EXPECT_EQ(runs_, 0);
}

TEST_P(execute_limits, whoever_waits_for_ever_gets_the_first_answer) {
  execute_policy policy;
  policy.wait = milliseconds::max();
  const auto other = open();
  std::promise<void> working;
  std::promise<void> enough;
  auto first = std::async(std::launch::async, [&] {
    return other->execute(order_, {}, [&](const lease&) {
      other->charge("ada");
      working.set_value();
      enough.get_future().wait();
      return receipt();
    });
  });
  working.get_future().wait();
  std::promise<void> asking;
  auto second = std::async(std::launch::async, [&] {
    asking.set_value();
    return till_->execute(order_, policy, charging(*till_, "ada"));
  });
  asking.get_future().wait();
  EXPECT_EQ(second.wait_for(milliseconds(100)), std::future_status::timeout) << "it waits";
  enough.set_value();
  EXPECT_EQ(first.get()->kind, verdict_kind::run);
  const auto reply = second.get();
  ASSERT_TRUE(reply) << reply.error().detail;
  EXPECT_EQ(reply->kind, verdict_kind::replay);
  EXPECT_EQ(runs_, 0);
}

INSTANTIATE_TEST_SUITE_P(libraries, execute_limits, ::testing::ValuesIn(libraries),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace onceguard::testing
