// What the checker calls wrong: each rule by a history that breaks it, beside one that does not.
#include "checker.hpp"

#include <gtest/gtest.h>

namespace onceguard::sim {
namespace {

class checker : public testing::Test {
 protected:
  void happens(event_kind kind, std::uint64_t number, std::int64_t value = 0,
               std::uint64_t body = 0, std::uint32_t print = 0) {
    events_.add({.time = now_ += millisecond,
                 .kind = kind,
                 .print = print,
                 .number = number,
                 .value = value,
                 .body = body});
  }
  void answers(std::uint64_t request, answer_kind kind, std::uint64_t body = 0,
               std::uint32_t print = 0) {
    happens(event_kind::answer, request, static_cast<std::int64_t>(kind), body, print);
  }
  /// A request that runs and is stored.
  void runs(token under, std::uint64_t body) {
    happens(event_kind::grant, under, now_ + lease_end);
    happens(event_kind::dispatch, under);
    happens(event_kind::effect, under, 0, body);
    happens(event_kind::answered, under, 0, body);
    happens(event_kind::complete, under, kept_until, body);
  }
  /// What is wrong with the first key; empty: nothing.
  std::string found() {
    const auto all = check(events_, terms_);
    return all.empty() ? "" : all.front().fault.substr(0, all.front().fault.find(':'));
  }

  static constexpr std::int64_t lease_end = 1'000 * millisecond;
  static constexpr std::int64_t kept_until = 100'000 * millisecond;
  std::int64_t now_ = 0;
  history events_;
  check_terms terms_{.keys = {key_promise{}}};
};

TEST_F(checker, a_run_and_its_replay_are_right) {
  runs(1, 7);
  answers(1, answer_kind::ran, 7);
  answers(2, answer_kind::replay, 7);
  EXPECT_EQ(found(), "");
}

TEST_F(checker, a_lease_that_ended_is_not_renewed) {
  runs(1, 7);
  happens(event_kind::extend, 1, 2 * lease_end);
  EXPECT_EQ(found(), "a lease was renewed that had ended");
}

TEST_F(checker, an_effect_may_not_come_twice) {
  happens(event_kind::grant, 1, lease_end);
  happens(event_kind::effect, 1, 0, 7);
  happens(event_kind::effect, 1, 0, 8);
  EXPECT_EQ(found(), "it took effect twice");
}

TEST_F(checker, where_a_rerun_is_asked_for_it_may) {
  terms_.keys[0].rule = key_rule::rerun;
  happens(event_kind::effect, 1, 0, 7);
  happens(event_kind::effect, 2, 0, 8);
  EXPECT_EQ(found(), "");
}

TEST_F(checker, no_rerun_without_a_doubt) {
  terms_.keys[0].rule = key_rule::rerun;
  terms_.calm = true;
  happens(event_kind::effect, 1, 0, 7);
  happens(event_kind::effect, 2, 0, 8);
  EXPECT_EQ(found(), "it took effect twice");
}

TEST_F(checker, an_answer_must_be_stored) {
  happens(event_kind::grant, 1, lease_end);
  happens(event_kind::effect, 1, 0, 7);
  answers(1, answer_kind::ran, 7);
  EXPECT_EQ(found(), "a client got an answer that was not stored");
}

TEST_F(checker, all_get_the_first_answer) {
  runs(1, 7);
  answers(1, answer_kind::ran, 7);
  now_ = kept_until;
  runs(2, 8);
  answers(2, answer_kind::replay, 8);
  EXPECT_EQ(found(), "");
  answers(3, answer_kind::ran, 7);
  EXPECT_EQ(found(), "a client got another answer");
}

TEST_F(checker, a_holder_that_was_stopped_answers_after_the_retention) {
  happens(event_kind::request, 1);
  runs(1, 7);
  now_ = kept_until;
  runs(2, 8);
  answers(1, answer_kind::ran, 7);
  EXPECT_EQ(found(), "");
  happens(event_kind::request, 2);
  answers(2, answer_kind::ran, 7);
  EXPECT_EQ(found(), "a client got another answer");
}

TEST_F(checker, another_request_never_gets_it) {
  runs(1, 7);
  answers(1, answer_kind::replay, 7, 1);
  EXPECT_EQ(found(), "a client got the answer of another request");
}

TEST_F(checker, nothing_leaves_after_an_answer) {
  runs(1, 7);
  answers(1, answer_kind::ran, 7);
  happens(event_kind::dispatch, 1);
  EXPECT_EQ(found(), "a request left after an answer was returned");
}

TEST_F(checker, one_lease_at_a_time) {
  happens(event_kind::grant, 1, lease_end);
  happens(event_kind::grant, 2, lease_end);
  EXPECT_EQ(found(), "two leases at a time");
}

TEST_F(checker, a_boot_of_the_store_ends_the_leases_that_there_are) {
  terms_.keys[0].rule = key_rule::rerun;
  happens(event_kind::grant, 1, lease_end);
  happens(event_kind::reboot, 0);
  happens(event_kind::dispatch, 1);  // its holder counts by its own clock
  happens(event_kind::grant, 2, lease_end);
  EXPECT_EQ(found(), "");
  happens(event_kind::grant, 3, lease_end);
  EXPECT_EQ(found(), "two leases at a time");
}

TEST_F(checker, a_lease_that_ran_out_may_not_be_taken_over_where_it_is_held) {
  happens(event_kind::grant, 1, lease_end);
  now_ = lease_end;
  happens(event_kind::grant, 2, 2 * lease_end);
  EXPECT_EQ(found(), "it was taken over although it may have run");
}

TEST_F(checker, a_lease_that_had_not_begun_may_be_taken_over) {
  terms_.keys[0].into_started = true;
  happens(event_kind::grant, 1, lease_end);
  now_ = lease_end;
  happens(event_kind::grant, 2, 2 * lease_end);
  EXPECT_EQ(found(), "");
}

TEST_F(checker, tokens_only_grow) {
  runs(5, 7);
  now_ = kept_until;
  happens(event_kind::grant, 5, kept_until + lease_end);
  EXPECT_EQ(found(), "a token came again");
}

TEST_F(checker, an_answer_is_not_replaced) {
  runs(1, 7);
  happens(event_kind::complete, 2, kept_until, 8);
  EXPECT_EQ(found(), "an answer was replaced");
}

TEST_F(checker, nothing_is_granted_over_an_answer_that_is_kept) {
  runs(1, 7);
  happens(event_kind::grant, 2, lease_end);
  EXPECT_EQ(found(), "a lease was granted over an answer");
}

TEST_F(checker, a_superseded_holder_sends_nothing) {
  terms_.keys[0].rule = key_rule::rerun;
  happens(event_kind::grant, 1, lease_end);
  now_ = lease_end;
  happens(event_kind::grant, 2, 2 * lease_end);
  happens(event_kind::dispatch, 1);
  EXPECT_EQ(found(), "a request left under a superseded lease");
}

TEST_F(checker, work_begins_only_while_a_third_of_the_lease_is_left) {
  happens(event_kind::grant, 1, lease_end);
  happens(event_kind::sending, 1);
  EXPECT_EQ(found(), "");
  now_ = lease_end * 4 / 5;
  happens(event_kind::sending, 1);
  EXPECT_EQ(found(), "work began although its lease was nearly over");
}

TEST_F(checker, nothing_leaves_after_the_end_of_its_lease) {
  happens(event_kind::grant, 1, lease_end);
  now_ = lease_end + millisecond;
  happens(event_kind::dispatch, 1);
  EXPECT_EQ(found(), "a request left after the end of its lease");
}

TEST_F(checker, nothing_leaves_under_a_lease_that_was_given_back) {
  happens(event_kind::grant, 1, lease_end);
  happens(event_kind::abandon, 1);
  now_ += millisecond;
  happens(event_kind::dispatch, 1);
  EXPECT_EQ(found(), "a request left after the end of its lease");
}

TEST_F(checker, nothing_leaves_under_a_lease_that_is_known_to_be_lost) {
  happens(event_kind::grant, 1, lease_end);
  happens(event_kind::lease_lost, 1);
  happens(event_kind::dispatch, 1);
  EXPECT_EQ(found(), "a request left under a lease that was known to be lost");
}

TEST_F(checker, one_call_that_fails_costs_nobody_the_lease) {
  terms_.keys[0].rule = key_rule::rerun;
  for (const bool mild : {false, true}) {
    terms_.mild = mild;
    events_ = {};
    now_ = 0;
    happens(event_kind::grant, 1, lease_end);
    happens(event_kind::sending, 1);
    happens(event_kind::dispatch, 1);
    now_ = lease_end;
    happens(event_kind::grant, 2, 2 * lease_end);
    EXPECT_EQ(found(), mild ? "a lease ran out under who was at work" : "");
  }
}

TEST_F(checker, a_question_that_was_not_asked_leaves_the_doubt) {
  terms_.keys[0].rule = key_rule::probe;
  happens(event_kind::grant, 1, lease_end);
  now_ = lease_end;
  happens(event_kind::probe_grant, 2, 2 * lease_end);
  happens(event_kind::release, 2);
  now_ += millisecond;
  happens(event_kind::grant, 3, 3 * lease_end);
  EXPECT_EQ(found(), "it was taken over without a question");
}

TEST_F(checker, an_operator_may_not_release_what_may_still_run) {
  terms_.keys[0].run = milliseconds(500);
  happens(event_kind::grant, 1, lease_end);
  happens(event_kind::sending, 1);
  now_ = lease_end + 100 * millisecond;
  happens(event_kind::resolve, 1);
  EXPECT_EQ(found(), "an operator was let to release what may still run");
}

TEST_F(checker, what_an_operator_has_released_takes_no_effect_later) {
  happens(event_kind::grant, 1, lease_end);
  now_ = lease_end;
  happens(event_kind::resolve, 1);
  happens(event_kind::effect, 1, 0, 7);
  EXPECT_EQ(found(), "it took effect after an operator had released it");
}

TEST_F(checker, what_an_operator_has_released_is_replayed_for_some_seconds_at_most) {
  runs(1, 7);
  happens(event_kind::resolve, 1);
  happens(event_kind::request, 1);
  answers(1, answer_kind::replay, 7);
  now_ += 5'000 * millisecond;
  EXPECT_EQ(found(), "");
  happens(event_kind::request, 2);
  answers(2, answer_kind::replay, 7);
  EXPECT_EQ(found(), "an answer was replayed after an operator had released it");
  terms_.copies_without_truth = true;
  EXPECT_EQ(found(), "");
}

TEST_F(checker, what_an_operator_has_released_runs_again) {
  runs(1, 7);
  answers(1, answer_kind::ran, 7);
  happens(event_kind::resolve, 1);
  runs(2, 8);
  answers(2, answer_kind::ran, 8);
  EXPECT_EQ(found(), "");
  happens(event_kind::effect, 2, 0, 9);
  EXPECT_EQ(found(), "it took effect after an answer was returned");
}

TEST_F(checker, what_the_store_has_forgotten_may_come_again_and_nothing_else) {
  runs(1, 7);
  now_ += 2'000 * millisecond;
  happens(event_kind::lose_memory, 0, now_ - 1'000 * millisecond);
  happens(event_kind::effect, 1, 0, 8);
  EXPECT_EQ(found(), "it took effect twice");
  events_ = {};
  runs(1, 7);
  happens(event_kind::lose_memory, 0, now_ - 1'000 * millisecond);
  happens(event_kind::effect, 1, 0, 8);
  EXPECT_EQ(found(), "");
}

TEST_F(checker, after_a_loss_of_memory_the_next_lease_is_held_to_all_rules_again) {
  runs(1, 7);
  happens(event_kind::lose_memory, 0, now_ - 1'000 * millisecond);
  happens(event_kind::grant, 2, now_ + lease_end);
  happens(event_kind::effect, 1, 0, 8);  // of the life that was forgotten
  EXPECT_EQ(found(), "");
  happens(event_kind::effect, 2, 0, 9);
  EXPECT_EQ(found(), "");
  happens(event_kind::effect, 2, 0, 10);
  EXPECT_EQ(found(), "it took effect twice");
}

TEST_F(checker, who_asks_at_the_end_gets_an_answer) {
  terms_.first_of_asked = 100;
  answers(101, answer_kind::busy);
  EXPECT_EQ(found(), "it is stuck");
}

TEST_F(checker, whose_request_came_gets_an_answer) {
  terms_.calm = true;
  happens(event_kind::request, 1);
  EXPECT_EQ(found(), "a client got no answer at all");
}

TEST_F(checker, who_waits_for_a_twin_hears_of_its_end) {
  terms_.calm = true;
  terms_.keys[0].waits = true;
  happens(event_kind::request, 1);
  runs(1, 7);
  now_ += 200 * millisecond;
  answers(1, answer_kind::replay, 7);
  EXPECT_EQ(found(), "");
  happens(event_kind::request, 2);
  now_ += 2'000 * millisecond;
  answers(2, answer_kind::busy);
  EXPECT_EQ(found(), "a client waited on although its twin had ended");
}

TEST_F(checker, without_a_cause_nothing_is_unknown) {
  terms_.calm = true;
  happens(event_kind::grant, 1, lease_end);
  answers(1, answer_kind::unknown);
  EXPECT_EQ(found(), "nothing went wrong, and a client got no answer");
}

}  // namespace
}  // namespace onceguard::sim
