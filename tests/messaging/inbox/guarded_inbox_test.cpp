// The inbox over a guard: claim, handle, settle.
#include <thread>

#include <gtest/gtest.h>

#include <onceguard/inbox_guard.hpp>
#include <onceguard/testing.hpp>

#include "messaging/inbox/inbox_outcome.hpp"

namespace onceguard::testing {
namespace {

class guarded_inbox_test : public ::testing::Test {
 protected:
  static inbox_policy three_attempts() {
    inbox_policy out;
    out.attempts = 3;
    return out;
  }
  inbox_outcome process(const inbox_message& message, const guarded_inbox::handler& handler) {
    auto got = inbox_.process(message, handler);
    if (!got) throw std::runtime_error(got.error().detail);
    return std::move(*got);
  }
  guarded_inbox::handler counting() {
    return [this](const inbox_message&, running&) { ++runs_; };
  }

  store_in_hand records_;
  guard guard_ = guard::open(records_.open()).value();
  guarded_inbox inbox_{guard_, "billing", three_attempts()};
  int runs_ = 0;
};

TEST_F(guarded_inbox_test, each_message_is_handled_once) {
  EXPECT_EQ(process({"m1", "a"}, counting()).kind, inbox_result::handled);
  EXPECT_EQ(process({"m1", "a"}, counting()).kind, inbox_result::duplicate);
  EXPECT_EQ(process({"m1", "b"}, counting()).kind, inbox_result::reused);
  EXPECT_EQ(process({"m2", "a"}, counting()).kind, inbox_result::handled);
  EXPECT_EQ(runs_, 2);
}

TEST_F(guarded_inbox_test, what_did_not_happen_is_tried_again_until_it_is_dead) {
  const auto failing = [&](const inbox_message&, running& run) {
    EXPECT_EQ(run.attempt(), static_cast<std::uint32_t>(++runs_));
    if (runs_ % 2 == 0) throw not_done("later");
    throw try_later("later");
  };
  auto got = process({"m1", "a"}, failing);
  EXPECT_EQ(got.kind, inbox_result::failed);
  EXPECT_EQ(got.retry_after, milliseconds(1'000));
  EXPECT_EQ(process({"m1", "a"}, failing).kind, inbox_result::busy);
  records_.advance(milliseconds(1'001));
  got = process({"m1", "a"}, failing);
  EXPECT_EQ(got.kind, inbox_result::failed);
  EXPECT_EQ(got.retry_after, milliseconds(2'000));
  records_.advance(milliseconds(2'001));
  EXPECT_EQ(process({"m1", "a"}, failing).kind, inbox_result::dead);
  EXPECT_EQ(process({"m1", "a"}, failing).reason, "later") << "of the record";
  EXPECT_EQ(runs_, 3);
}

TEST_F(guarded_inbox_test, any_other_exception_is_unknown_and_never_handled_again) {
  auto got = process({"m1", "a"}, [](const inbox_message&, running&) {
    throw std::runtime_error("the line broke");
  });
  EXPECT_EQ(got.kind, inbox_result::unknown);
  EXPECT_EQ(got.reason, "the line broke");
  EXPECT_EQ(reply_to(got), broker_reply::dead_letter);
  EXPECT_EQ(process({"m1", "a"}, counting()).kind, inbox_result::unknown);
  EXPECT_EQ(runs_, 0);
}

TEST_F(guarded_inbox_test, a_rejected_message_is_dead) {
  const auto got = process({"m1", "a"}, [](const inbox_message&, running&) {
    throw message_rejected("no such account");
  });
  EXPECT_EQ(got.kind, inbox_result::dead);
  EXPECT_EQ(process({"m1", "a"}, counting()).reason, "no such account");
}

TEST_F(guarded_inbox_test, a_crash_amid_the_handler_leaves_it_unknown) {
  request crashed{"billing", "m1", "a"};
  crashed.scope_kind = "application:inbox";
  records_.make_unknown(crashed);
  EXPECT_EQ(process({"m1", "a"}, counting()).kind, inbox_result::unknown);
  EXPECT_EQ(runs_, 0);
}

TEST_F(guarded_inbox_test, a_twin_in_another_process_is_busy) {
  request running_there{"billing", "m1", "a"};
  running_there.scope_kind = "application:inbox";
  records_.make_busy(running_there);
  const auto got = process({"m1", "a"}, counting());
  EXPECT_EQ(got.kind, inbox_result::busy);
  EXPECT_GT(got.retry_after, milliseconds(0));
}

TEST_F(guarded_inbox_test, without_its_store_nothing_is_handled) {
  records_.set_reachable(false);
  const auto got = inbox_.process({"m1", "a"}, counting());
  EXPECT_EQ(got.error().code, errc::store_unreachable);
  EXPECT_EQ(runs_, 0);
}

TEST_F(guarded_inbox_test, what_could_not_be_recorded_is_not_reported_as_handled) {
  guard_params hasty;
  hasty.engine.settle_wait = milliseconds(50);
  guard impatient = guard::open(records_.open(), hasty).value();
  guarded_inbox inbox(impatient, "billing", three_attempts());
  const auto got = inbox.process({"m1", "a"}, [&](const inbox_message&, running&) {
    ++runs_;
    records_.set_reachable(false);
  });
  records_.set_reachable(true);
  ASSERT_FALSE(got.has_value()) << name_of(got->kind);
  EXPECT_EQ(got.error().code, errc::store_unreachable);
  EXPECT_EQ(got.error().effect, effect::unknown);
  EXPECT_EQ(runs_, 1);
}

TEST_F(guarded_inbox_test, a_message_is_remembered_for_the_inboxs_retention) {
  process({"m1", "a"}, counting());
  process({"m2", "a"}, [](const inbox_message&, running&) { throw message_rejected("no"); });
  records_.advance(three_attempts().retention - milliseconds(60'000));
  // Of another process: this one remembers by itself.
  guard elsewhere = guard::open(records_.open()).value();
  guarded_inbox later(elsewhere, "billing", three_attempts());
  EXPECT_EQ(later.process({"m1", "a"}, counting())->kind, inbox_result::duplicate);
  EXPECT_EQ(later.process({"m2", "a"}, counting())->kind, inbox_result::dead);
  EXPECT_EQ(runs_, 1);
}

TEST_F(guarded_inbox_test, a_slow_handler_has_the_inboxs_lease) {
  auto patient = three_attempts();
  patient.lease = milliseconds(600'000);
  guarded_inbox inbox(guard_, "billing", patient);
  guard elsewhere = guard::open(records_.open()).value();
  guarded_inbox twin(elsewhere, "billing", patient);
  const auto got = inbox.process({"m1", "a"}, [&](const inbox_message&, running&) {
    records_.advance(milliseconds(500'000));
    EXPECT_EQ(twin.process({"m1", "a"}, counting())->kind, inbox_result::busy);
  });
  EXPECT_EQ(got->kind, inbox_result::handled);
  EXPECT_EQ(runs_, 0);
}

TEST(attempts_away, are_dead_at_the_last_that_counts_and_never_at_the_first) {
  inbox_policy policy;
  policy.attempts = 3;
  const auto kind = [&](std::uint32_t blamed, bool blameless = false) {
    return messaging::away_of({"503", 9, 0, blamed}, blameless, policy).kind;
  };
  EXPECT_EQ(kind(0), inbox_result::failed);
  EXPECT_EQ(kind(1), inbox_result::failed);
  EXPECT_EQ(kind(2), inbox_result::dead);
  EXPECT_EQ(kind(7, true), inbox_result::failed);
  policy.attempts = 1;
  EXPECT_EQ(kind(0), inbox_result::failed) << "nothing tells it from an outage";
  EXPECT_EQ(kind(1), inbox_result::dead);
}

TEST(attempts_away, wait_for_the_back_off_which_no_outage_makes_longer) {
  inbox_policy policy;
  policy.backoff = milliseconds(100);
  policy.backoff_max = milliseconds(300);
  const auto pause = [&](std::uint32_t excused, std::uint32_t blamed, bool blameless) {
    return messaging::away_of({"", 1, excused, blamed}, blameless, policy).retry_after.count();
  };
  EXPECT_EQ(pause(0, 0, false), 100);
  EXPECT_EQ(pause(9, 0, false), 100);
  EXPECT_EQ(pause(0, 1, false), 200);
  EXPECT_EQ(pause(1, 0, true), 200);
  EXPECT_EQ(pause(9, 0, true), 300);
}

TEST_F(guarded_inbox_test, a_policy_that_can_not_be_is_refused) {
  inbox_policy none;
  none.attempts = 0;
  EXPECT_THROW(guarded_inbox(guard_, "billing", none), std::invalid_argument);
  EXPECT_THROW(guarded_inbox(guard_, "", {}), std::invalid_argument);
  inbox_policy negative;
  negative.lease = milliseconds(-1);
  EXPECT_THROW(guarded_inbox(guard_, "billing", negative), std::invalid_argument);
}

}  // namespace
}  // namespace onceguard::testing
