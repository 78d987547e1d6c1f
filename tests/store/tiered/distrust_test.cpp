// When a tiered store distrusts its accelerator: releases, older copies, and clocks that went back.
#include "store/staleness.hpp"
#include "store/tiered/fixture.hpp"

namespace onceguard::testing {
namespace {

using tiered::circuit_breaker;
using tiered::findings;
using tiered::reason_for_distrust;
using tiered::tiered_counters;

class tiered_release_test : public tiered_fixture {
 protected:
  static resolution release_of(const claim& request) {
    resolution change;
    change.id = request.id;
    return change;
  }
  void wait_for_an_end(process& peer, int ends) {
    wait_until("a reading of the accelerator", [&] {
      peer.store->poll_now();
      return metadata_.ended() == ends;
    });
  }
};

TEST_F(tiered_release_test, a_released_answer_is_not_replayed_by_the_process_that_released_it) {
  process one(*this);
  const auto request = claim_of("k");
  one.caller->completed(request);
  one.fast->resolves = health::unreachable;  // a release removes nothing there
  EXPECT_TRUE(one.caller->resolve(release_of(request)).forgets_answer);
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_F(tiered_release_test, a_process_that_polled_after_a_release_replays_no_older_answer) {
  process one(*this);
  for (int i = 0; i < 20; ++i) {  // whatever a poll finds in between
    const auto key = "k" + std::to_string(i);
    one.wait_until_trusted();
    one.caller->completed(claim_of(key));
    truth_caller_.resolve(release_of(claim_of(key)));  // by another process
    one.caller->vitals();
    EXPECT_EQ(one.caller->claim(claim_of(key)).kind, verdict_kind::run);
  }
}

TEST_F(tiered_release_test, a_copy_from_before_a_release_is_never_replayed) {
  process one(*this);
  const auto request = claim_of("k");
  one.caller->completed(request);
  const auto old = slot_of(request);
  one.caller->resolve(release_of(request));
  one.wait_until_trusted();
  const auto again = claim_of("k");
  auto change = settle_of(again, one.caller->leased(again));
  change.answer = answer_of("right");
  one.caller->settle(change);
  ASSERT_TRUE(fast_caller_.find(old)) << "the old answer is still there";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(one.caller->claim(claim_of("k")).answer->body, "right");
}

TEST_F(tiered_release_test, a_marker_is_removed_when_an_operator_ends_the_lease) {
  process one(*this);
  const auto request = claim_of("k");
  one.caller->leased(request);
  auto change = release_of(request);
  change.force = true;
  EXPECT_EQ(one.caller->resolve(change).outcome, resolve_outcome::done);
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_F(tiered_release_test, a_marker_is_removed_once_an_unreachable_accelerator_is_back) {
  process one(*this), other(*this);
  const auto request = claim_of("k");
  one.caller->leased(request);
  one.distrust();
  auto change = release_of(request);
  change.force = true;
  EXPECT_EQ(one.caller->resolve(change).outcome, resolve_outcome::done);
  one.fast->all = health::well;
  one.wait_until_trusted();
  wait_until("the marker to go",
             [&] { return copy_of(request)->state != observed_state::in_progress; });
  EXPECT_EQ(other.caller->claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_F(tiered_release_test, an_accelerator_that_went_back_to_an_older_state_ends_the_epoch) {
  process one(*this);
  one.caller->completed(claim_of("k"));
  auto older = fast_caller_.vitals();
  older.generation = 0;
  wait_until("a note", [&] { return metadata_.noted().has_value(); });
  one.fast->pretend(older);
  wait_for_an_end(one, 1);
  one.wait_until_trusted();
  const int before = one.truth->claims_made;
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::replay);
  EXPECT_EQ(one.truth->claims_made, before + 1);
  EXPECT_EQ(one.store->counters().epochs, 1u);
}

TEST_F(tiered_release_test, an_accelerator_found_older_than_noted_when_opening_ends_the_epoch) {
  boost::asio::io_context context;
  accelerator_state more;
  more.identity = fast_caller_.vitals().identity;
  more.generation = 1'000'000;
  run(context, metadata_.note(more, {}, patience)).value();
  process one(*this);
  EXPECT_EQ(metadata_.ended(), 1);
  EXPECT_LT(metadata_.noted()->generation, more.generation);
}

TEST_F(tiered_release_test, another_accelerator_serves_no_copies_of_the_first) {
  process one(*this);
  one.caller->completed(claim_of("k"));
  auto other = fast_caller_.vitals();
  other.identity = "another";
  one.fast->pretend(other);
  wait_until("a reading of the accelerator", [&] {
    one.store->poll_now();
    return metadata_.noted()->identity == "another" && one.store->trusts();
  });
  const int before = one.truth->claims_made;
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::replay);
  EXPECT_EQ(one.truth->claims_made, before + 1);
  EXPECT_EQ(metadata_.ended(), 0) << "two of them at once would end it for ever";
}

TEST_F(tiered_release_test, an_accelerator_clock_that_went_back_ends_the_epoch) {
  process one(*this);
  one.caller->completed(claim_of("k"));
  wait_until("a note", [&] { return metadata_.noted().has_value(); });
  fast_clock_.step_wall(-milliseconds(600'000));
  wait_for_an_end(one, 1);
  one.wait_until_trusted();
  const int before = one.truth->claims_made;
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::replay);
  EXPECT_EQ(one.truth->claims_made, before + 1);
}

// --- reasons for distrust after one poll --------------------------------------------------------

findings found(std::uint64_t truth, std::uint64_t accelerator, std::int64_t ahead) {
  findings out;
  out.truth.origin = "here";
  out.truth.generation = truth;
  out.accelerator = {"fast", accelerator, ahead};
  return out;
}

TEST(tiered_distrust_test, only_generations_and_clocks_that_went_back_cause_distrust) {
  auto now = found(5, 7, 100);
  EXPECT_FALSE(reason_for_distrust(now, std::nullopt));
  EXPECT_FALSE(reason_for_distrust(now, found(5, 7, 100)));
  EXPECT_FALSE(reason_for_distrust(now, found(4, 6, -90'000)));
  EXPECT_TRUE(reason_for_distrust(now, found(6, 7, 100)));
  EXPECT_TRUE(reason_for_distrust(now, found(5, 8, 100)));
  now.truth.noted = accelerator_state{"fast", 7, 5'100};
  EXPECT_FALSE(reason_for_distrust(now, std::nullopt));
  now.truth.noted->clock_ahead = 5'101;
  EXPECT_TRUE(reason_for_distrust(now, std::nullopt));
  now.truth.noted = accelerator_state{"fast", 8, 100};
  EXPECT_TRUE(reason_for_distrust(now, std::nullopt));
}

TEST(tiered_distrust_test, a_clock_that_went_ahead_and_back_between_two_notes_causes_distrust) {
  auto now = found(5, 7, 100);
  now.truth.noted = accelerator_state{"fast", 7, 100};
  EXPECT_TRUE(reason_for_distrust(now, found(5, 7, 3'600'100)));
}

TEST(tiered_distrust_test, a_truth_of_another_origin_is_not_taken_for_an_older_state) {
  auto before = found(6, 7, 100);
  before.truth.origin = "there";
  EXPECT_FALSE(reason_for_distrust(found(5, 7, 100), before));
}

// --- how long a poll counts ---------------------------------------------------------------------

class tiered_breaker_test : public ::testing::Test {
 protected:
  using time_point = circuit_breaker::time_point;

  static vitals reply(std::uint64_t forgotten, const std::string& identity = "truth") {
    return {.identity = identity, .generation = 1, .forgotten = forgotten};
  }
  void poll_both(circuit_breaker& breaker, time_point time) {
    breaker.both_answered(breaker.ticket(), epoch_, 0, time);
  }

  tiered_counters counters_;
  circuit_breaker strict_{counters_, false};
  circuit_breaker lasting_{counters_, true};
  digest epoch_{1, 2, 3};
  time_point start_ = base::boot_now();
};

TEST_F(tiered_breaker_test, the_accelerator_is_trusted_only_for_a_limited_time_after_a_poll) {
  EXPECT_FALSE(strict_.epoch_at(start_));
  poll_both(strict_, start_);
  ASSERT_TRUE(strict_.epoch_at(start_ + fresh_for));
  EXPECT_TRUE(strict_.epoch_at(start_ + fresh_for)->busy);
  EXPECT_FALSE(strict_.epoch_at(start_ + fresh_for + milliseconds(1)));
}

TEST_F(tiered_breaker_test, without_the_truth_only_replays_are_trusted_and_only_if_configured) {
  const auto late = start_ + 10 * fresh_for;
  for (auto* each : {&strict_, &lasting_}) {
    poll_both(*each, start_);
    each->accelerator_answered(each->ticket(), late);
  }
  EXPECT_FALSE(strict_.epoch_at(late));
  ASSERT_TRUE(lasting_.epoch_at(late));
  EXPECT_EQ(lasting_.epoch_at(late)->epoch, epoch_);
  EXPECT_FALSE(lasting_.epoch_at(late)->busy);
  EXPECT_FALSE(lasting_.epoch_at(late + fresh_for + milliseconds(1)));
  lasting_.distrust_now();
  EXPECT_FALSE(lasting_.epoch_at(late));
}

TEST_F(tiered_breaker_test, a_poll_that_began_before_a_distrust_does_not_count) {
  const auto ticket = strict_.ticket();
  strict_.distrust_now();
  EXPECT_FALSE(strict_.both_answered(ticket, epoch_, 0, start_));
  EXPECT_FALSE(strict_.epoch_at(start_));
  poll_both(strict_, start_);
  EXPECT_TRUE(strict_.epoch_at(start_));
}

TEST_F(tiered_breaker_test, changed_vitals_of_the_truth_end_trust_without_a_poll) {
  poll_both(strict_, start_);
  EXPECT_FALSE(strict_.note_vitals(reply(0)));
  EXPECT_TRUE(strict_.epoch_at(start_));
  EXPECT_TRUE(strict_.note_vitals(reply(1)));
  EXPECT_FALSE(strict_.epoch_at(start_));
  strict_.both_answered(strict_.ticket(), epoch_, 1, start_);
  EXPECT_FALSE(strict_.note_vitals(reply(1)));
  EXPECT_TRUE(strict_.epoch_at(start_));
  EXPECT_TRUE(strict_.note_vitals(reply(1, "another")));
  EXPECT_FALSE(strict_.epoch_at(start_));
}

TEST_F(tiered_breaker_test, a_truth_that_went_back_ends_trust) {
  poll_both(strict_, start_);
  auto later = reply(0);
  later.generation = 2;
  EXPECT_FALSE(strict_.note_vitals(later));
  EXPECT_TRUE(strict_.epoch_at(start_));
  EXPECT_TRUE(strict_.note_vitals(reply(0)));
  EXPECT_FALSE(strict_.epoch_at(start_));
}

TEST_F(tiered_breaker_test, an_older_poll_does_not_override_newer_vitals_of_the_truth) {
  poll_both(strict_, start_);
  strict_.note_vitals(reply(0));
  strict_.distrust_now();
  const auto before = strict_.ticket();
  EXPECT_TRUE(strict_.note_vitals(reply(1)));  // while the accelerator is not trusted
  strict_.both_answered(before, epoch_, 0, start_);
  EXPECT_FALSE(strict_.epoch_at(start_));

  circuit_breaker fresh(counters_, false);
  const auto first = fresh.ticket();
  EXPECT_TRUE(fresh.note_vitals(reply(1)));
  fresh.both_answered(first, epoch_, 0, start_);
  EXPECT_FALSE(fresh.epoch_at(start_));
}

TEST_F(tiered_breaker_test, the_circuit_breaker_opens_after_several_failures_in_a_row) {
  poll_both(strict_, start_);
  strict_.call_failed("gone", start_);
  strict_.call_failed("gone", start_);
  strict_.call_succeeded();
  strict_.call_failed("gone", start_);
  strict_.call_failed("gone", start_);
  EXPECT_TRUE(strict_.epoch_at(start_));
  strict_.call_failed("gone",
                      start_ + std::chrono::minutes(1));  // the earlier failures are long past
  EXPECT_TRUE(strict_.epoch_at(start_));
  for (int i = 0; i < 3; ++i) strict_.call_failed("gone", start_);
  EXPECT_FALSE(strict_.epoch_at(start_));
  EXPECT_EQ(counters_.outages, 1u);
  strict_.call_succeeded();  // a call that was already under way
  EXPECT_FALSE(strict_.epoch_at(start_));
  strict_.poll_succeeded(start_);
  EXPECT_TRUE(strict_.epoch_at(start_));
}

}  // namespace
}  // namespace onceguard::testing
