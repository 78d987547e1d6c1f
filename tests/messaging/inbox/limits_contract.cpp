// The limits of the durations of an inbox, on each database alike and over a guard.
#include <onceguard/inbox_guard.hpp>
#include <onceguard/testing.hpp>

#include "messaging/inbox/inbox_fixture.hpp"

namespace onceguard::testing {
namespace {

constexpr milliseconds longest[] = {milliseconds::max() - milliseconds(1), milliseconds::max()};
constexpr milliseconds inbox_policy::*durations[] = {
    &inbox_policy::backoff, &inbox_policy::backoff_max, &inbox_policy::retention,
    &inbox_policy::lease};

inbox_policy with(milliseconds inbox_policy::*member, milliseconds length) {
  inbox_policy out;
  out.*member = length;
  // A back-off above the longest is none.
  if (member == &inbox_policy::backoff) out.backoff_max = std::max(out.backoff_max, length);
  return out;
}

class inbox_limits : public ::testing::TestWithParam<library_under_test> {
 protected:
  inbox_outcome process(std::string_view id, const inbox_policy& policy,
                        const message_handler& handler) {
    const std::vector<inbox_message> batch{{id, "ada"}};
    auto got = till_.process("billing", policy, batch, handler);
    if (!got) throw std::runtime_error(got.error().detail);
    return std::move(got->at(0));
  }

  std::unique_ptr<shop> shop_ = GetParam().make();
  inbox_till till_{shop_->open()};
  int runs_ = 0;
};

TEST_P(inbox_limits, the_longest_durations_let_a_message_take_effect_once) {
  int ids = 0;
  for (const auto member : durations) {
    for (const auto length : longest) {
      const auto policy = with(member, length);
      const auto id = "m" + std::to_string(++ids);
      runs_ = 0;
      const auto handler = [&](const inbox_message&, const lease&) { ++runs_; };
      EXPECT_EQ(process(id, policy, handler).kind, inbox_result::handled);
      EXPECT_EQ(process(id, policy, handler).kind, inbox_result::duplicate);
      EXPECT_EQ(runs_, 1) << ids;
    }
  }
}

TEST_P(inbox_limits, the_longest_back_off_keeps_a_failed_message_for_ever) {
  for (const auto length : longest) {
    const auto id = "m" + std::to_string(length.count());
    const auto failing = [&](const inbox_message&, const lease&) {
      ++runs_;
      throw std::runtime_error("not now");
    };
    const auto policy = with(&inbox_policy::backoff, length);
    EXPECT_EQ(process(id, policy, failing).kind, inbox_result::failed);
    const auto again = process(id, policy, failing);
    EXPECT_EQ(again.kind, inbox_result::busy);
    EXPECT_GT(again.retry_after, milliseconds(std::chrono::hours(24 * 365)));
  }
  EXPECT_EQ(runs_, 2);
}

TEST_P(inbox_limits, what_is_no_duration_is_refused) {
  const auto handler = [&](const inbox_message&, const lease&) { ++runs_; };
  for (const auto member : durations) {
    for (const auto length : {milliseconds(0), milliseconds(-1), milliseconds::min()}) {
      EXPECT_THROW(process("m", with(member, length), handler), std::invalid_argument);
    }
  }
  EXPECT_EQ(runs_, 0);
}

INSTANTIATE_TEST_SUITE_P(databases, inbox_limits, ::testing::ValuesIn(databases()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(guarded_inbox_limits, the_longest_durations_let_a_message_take_effect_once) {
  store_in_hand records;
  auto over = guard::open(records.open()).value();
  int ids = 0;
  for (const auto member : durations) {
    for (const auto length : longest) {
      guarded_inbox inbox(over, "billing", with(member, length));
      const auto id = "m" + std::to_string(++ids);
      int runs = 0;
      const auto handler = [&](const inbox_message&, running&) { ++runs; };
      EXPECT_EQ(inbox.process({id, "a"}, handler)->kind, inbox_result::handled);
      EXPECT_EQ(inbox.process({id, "a"}, handler)->kind, inbox_result::duplicate);
      EXPECT_EQ(runs, 1) << ids;
    }
  }
}

}  // namespace
}  // namespace onceguard::testing
