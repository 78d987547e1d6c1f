// The state machine, row by row: the application completes in the transaction of its effect.
#include <gmock/gmock.h>

#include "core/decide_walk.hpp"

namespace onceguard {
namespace {

answer_ptr answer_with(std::string body) {
  auto out = std::make_shared<answer>();
  out->status = 201;
  out->body = std::move(body);
  return out;
}

settlement reported_by_application(const lease& held, answer_ptr stored_answer) {
  auto request = settle_of(held, settle_kind::complete);
  request.by_application = true;
  request.kept = stored_answer ? answer_kept::full : answer_kept::none;
  request.answer = std::move(stored_answer);
  return request;
}

TEST_F(decide_walk, what_the_application_stored_is_the_answer_for_the_holder_too) {
  const auto held = ask(1).lease;
  EXPECT_EQ(end(reported_by_application(held, answer_with("its own"))).outcome,
            settle_outcome::done);
  const auto reply = end(held, settle_kind::complete);
  EXPECT_EQ(reply.outcome, settle_outcome::done);
  EXPECT_EQ(reply.state, observed_state::completed);
  ASSERT_TRUE(reply.answer);
  EXPECT_EQ(reply.answer->body, "its own");
  EXPECT_EQ(ask(2).answer->body, "its own");
}

TEST_F(decide_walk, where_the_application_gave_no_answer_its_holder_adds_one_once) {
  const auto held = ask(1).lease;
  end(reported_by_application(held, nullptr));
  EXPECT_EQ(ask(2).kind, verdict_kind::replay);
  EXPECT_FALSE(ask(2).answer);
  const auto added = end(held, settle_kind::complete);
  EXPECT_EQ(added.outcome, settle_outcome::done);
  EXPECT_EQ(added.state, observed_state::completed) << "with the application's retention";
  EXPECT_FALSE(added.answer);
  EXPECT_EQ(ask(3).answer->body, "first");
  auto another = settle_of(held, settle_kind::complete);
  another.answer = answer_with("second");
  EXPECT_EQ(end(another).answer->body, "first");
  EXPECT_EQ(ask(4).answer->body, "first");
}

TEST_F(decide_walk, repeated_answer_of_the_application_changes_nothing) {
  const auto held = ask(1).lease;
  end(reported_by_application(held, nullptr));
  end(held, settle_kind::complete);
  EXPECT_FALSE(end(held, settle_kind::complete).answer);
}

TEST_F(decide_walk, what_the_application_completed_is_not_rolled_back_by_its_holder) {
  for (const auto kind : {settle_kind::fail, settle_kind::release, settle_kind::abandon}) {
    stored.reset();
    const auto held = ask(1).lease;
    end(reported_by_application(held, answer_with("its own")));
    const auto reply = end(held, kind);
    EXPECT_EQ(reply.outcome, settle_outcome::stale);
    EXPECT_EQ(reply.state, observed_state::completed);
    EXPECT_EQ(reply.answer->body, "its own");
    EXPECT_EQ(state(), observed_state::completed);
  }
}

TEST_F(decide_walk, an_application_whose_lease_was_superseded_is_stale) {
  const auto first = ask(1).lease;
  pass(1'000);
  const auto second = ask(2, unknown_policy::rerun).lease;
  EXPECT_EQ(end(reported_by_application(first, answer_with("late"))).outcome,
            settle_outcome::stale);
  EXPECT_EQ(end(reported_by_application(second, answer_with("its own"))).outcome,
            settle_outcome::done);
  EXPECT_EQ(end(reported_by_application(first, answer_with("late"))).outcome,
            settle_outcome::stale);
  EXPECT_EQ(ask(3).answer->body, "its own");
}

TEST_F(decide_walk, an_application_without_a_record_is_stale_and_writes_none) {
  const auto held = ask(1).lease;
  stored.reset();
  EXPECT_EQ(end(reported_by_application(held, answer_with("lost"))).outcome, settle_outcome::stale);
  EXPECT_FALSE(stored);
}

TEST_F(decide_walk, an_application_whose_lease_was_released_is_stale) {
  const auto held = ask(1).lease;
  end(held, settle_kind::release);
  EXPECT_EQ(end(reported_by_application(held, answer_with("late"))).outcome, settle_outcome::stale);
  EXPECT_EQ(state(), observed_state::released);
}

TEST_F(decide_walk, an_application_may_complete_twice) {
  const auto held = ask(1).lease;
  end(reported_by_application(held, answer_with("its own")));
  EXPECT_EQ(end(reported_by_application(held, answer_with("its own"))).outcome,
            settle_outcome::done);
  EXPECT_EQ(ask(2).answer->body, "its own");
}

TEST_F(decide_walk, an_application_whose_lease_ran_out_but_stands_completes) {
  const auto held = ask(1).lease;
  pass(5'000);
  EXPECT_EQ(end(reported_by_application(held, answer_with("its own"))).outcome,
            settle_outcome::done);
}

TEST_F(decide_walk, a_holder_that_kept_no_answer_is_given_that_of_the_application) {
  const auto held = ask(1).lease;
  end(reported_by_application(held, answer_with("its own")));
  auto without = settle_of(held, settle_kind::complete);
  without.answer = nullptr;
  without.kept = answer_kept::too_large;
  const auto reply = end(without);
  EXPECT_EQ(reply.outcome, settle_outcome::done);
  ASSERT_TRUE(reply.answer);
  EXPECT_EQ(reply.answer->body, "its own");
  EXPECT_EQ(reply.kept, answer_kept::full);
}

}  // namespace
}  // namespace onceguard
