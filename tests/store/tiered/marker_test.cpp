// Markers and copies that must go, whatever fails meanwhile, and how long a poll is believed.
#include "store/tiered/fixture.hpp"

namespace onceguard::testing {
namespace {

class tiered_marker_test : public tiered_fixture {
 protected:
  static resolution forced(const claim& request) {
    resolution out;
    out.id = request.id;
    out.force = true;
    return out;
  }
  /// Waits until `polls` more polls of the accelerator were answered.
  static void wait_for_polls(process& one, int polls) {
    const int before = one.fast->polls;
    wait_until("further polls", [&] {
      one.store->poll_now();
      return one.fast->polls >= before + polls;
    });
  }
};

TEST_F(tiered_marker_test, a_lease_that_an_operator_ends_is_free_though_its_marker_stays) {
  process one(*this);
  const auto request = claim_of("k");
  one.caller->leased(request);
  one.fast->resolves = health::unreachable;  // the marker can't be dropped
  EXPECT_EQ(one.caller->resolve(forced(request)).outcome, resolve_outcome::done);
  ASSERT_EQ(copy_of(request)->state, observed_state::in_progress);
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::run);
  one.fast->resolves = health::well;
}

TEST_F(tiered_marker_test, a_lease_that_ended_without_a_notice_is_soon_asked_about) {
  process one(*this);
  one.wait_until_trusted();
  const auto request = claim_of("k");
  one.caller->leased(request);
  ASSERT_EQ(truth_caller_.resolve(forced(request)).outcome, resolve_outcome::done);
  ASSERT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::busy);
  wait_until("the word of the truth",
             [&] { return one.caller->claim(claim_of("k")).kind == verdict_kind::run; });
  wait_until("the marker to go", [&] {
    one.store->poll_now();
    const auto left = copy_of(request);
    return !left || left->state == observed_state::released;
  });
}

TEST_F(tiered_marker_test, a_repeated_claim_keeps_the_marker_of_its_first_sending) {
  process one(*this), other(*this);
  const auto request = claim_of("k");
  one.caller->leased(request);
  const auto held = one.caller->leased(repeat_of(request));
  EXPECT_EQ(one.caller->settle(settle_of(request, held)).outcome, settle_outcome::done);
  EXPECT_EQ(other.caller->claim(claim_of("k")).kind, verdict_kind::replay);
}

TEST_F(tiered_marker_test, a_copy_that_arrived_in_doubt_is_removed) {
  process one(*this);
  const auto request = claim_of("k");
  const auto held = one.caller->leased(request);
  one.fast->settles = health::late;
  EXPECT_EQ(one.caller->settle(settle_of(request, held)).outcome, settle_outcome::done);
  ASSERT_EQ(copy_of(request)->state, observed_state::completed);
  one.fast->settles = health::well;
  // Nobody knows how long it was under way: it may have more retention than is left.
  wait_for_polls(one, 3);
  const auto left = copy_of(request);
  EXPECT_TRUE(!left || left->state == observed_state::released);
}

TEST_F(tiered_marker_test, a_lease_that_another_process_settles_leaves_no_marker) {
  process one(*this), other(*this), third(*this);
  for (const auto kind : {settle_kind::complete, settle_kind::release, settle_kind::abandon}) {
    SCOPED_TRACE(static_cast<int>(kind));
    const auto request = claim_of("key " + std::to_string(static_cast<int>(kind)));
    const auto held = one.caller->leased(request);
    ASSERT_EQ(copy_of(request)->state, observed_state::in_progress);
    auto settlement = settle_of(request, held);
    settlement.kind = kind;
    ASSERT_EQ(other.caller->settle(settlement).outcome, settle_outcome::done);
    const auto left = copy_of(request);
    EXPECT_TRUE(!left || left->state == observed_state::released);
  }
}

TEST_F(tiered_marker_test, a_lease_settled_elsewhere_amid_distrust_loses_its_marker_later) {
  process one(*this), other(*this);
  const auto request = claim_of("k");
  const auto held = one.caller->leased(request);
  other.distrust();
  ASSERT_EQ(other.caller->settle(settle_of(request, held)).outcome, settle_outcome::done);
  ASSERT_EQ(copy_of(request)->state, observed_state::in_progress);
  other.fast->all = health::well;
  wait_until("the marker to go", [&] {
    other.store->poll_now();
    const auto left = copy_of(request);
    return !left || left->state == observed_state::released;
  });
}

TEST(tiered_leftovers_test, of_two_claims_in_one_place_the_marker_of_either_goes) {
  tiered::marker_table table;
  const auto first = claim_of("k"), second = claim_of("k");
  table.remove_later({first.id, first.about, first.claim_id});
  table.remove_later({first.id, first.about, first.claim_id});
  ASSERT_EQ(table.leftovers(2).size(), 1u);
  EXPECT_EQ(table.leftovers(1)[0].claim_id, first.claim_id);
  table.remove_later({second.id, second.about, second.claim_id});
  ASSERT_EQ(table.leftovers(2).size(), 1u);
  EXPECT_FALSE(table.leftovers(1)[0].claim_id) << "one of the two would stay";
}

TEST_F(tiered_marker_test, an_accelerator_that_went_back_is_not_asked_while_the_truth_is_away) {
  process one(*this, true);
  one.caller->completed(claim_of("k"));
  one.wait_until_trusted();
  wait_for_polls(one, 2);
  metadata_.out = true;
  auto older = fast_caller_.vitals();
  older.generation = 0;
  one.fast->pretend(older);
  wait_for_polls(one, 3);
  EXPECT_FALSE(one.store->trusts());
  const int before = one.truth->claims_made;
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::replay);
  EXPECT_EQ(one.truth->claims_made, before + 1);
}

TEST_F(tiered_marker_test, a_poll_is_believed_from_its_question_on_and_not_from_its_answer) {
  trusted_ = milliseconds(100);
  std::atomic<int> answered{0};
  metadata_.before_reading = [&] {
    // By then what was asked first may have changed.
    const auto late = base::boot_now() + 2 * trusted_;
    wait_until("the trust to be over", [&] { return base::boot_now() > late; });
    ++answered;
  };
  process one(*this);
  while (answered < 4) ASSERT_FALSE(one.store->trusts());
  one.store->stop();  // it uses what the test has
}

}  // namespace
}  // namespace onceguard::testing
