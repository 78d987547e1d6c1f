// What is copied into the accelerator, for how long, and what is never taken from there.
#include "store/tiered/fixture.hpp"

namespace onceguard::testing {
namespace {

class tiered_copy_test : public tiered_fixture {
 protected:
  /// The truth takes that long for each reply.
  void slow_down(process& peer, milliseconds length) {
    peer.truth->before_reply = [this, length] { clock_.advance(length); };
  }
};

TEST_F(tiered_copy_test, a_copy_of_a_settle_does_not_outlive_its_record) {
  process one(*this);
  const auto request = claim_of("k");
  const auto held = one.caller->leased(request);
  slow_down(one, second);
  one.caller->settle(settle_of(request, held));
  EXPECT_EQ(copy_of(request)->retention_left, day - second);
}

TEST_F(tiered_copy_test, a_copy_of_a_replay_does_not_outlive_its_record) {
  truth_caller_.completed(claim_of("k"));  // by a process that has no accelerator
  process one(*this);
  slow_down(one, second);
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::replay);
  EXPECT_EQ(copy_of(claim_of("k"))->retention_left, day - second);
}

TEST_F(tiered_copy_test, no_cache_keeps_a_copy_for_longer_than_a_wrong_clock_goes_unnoticed) {
  process one(*this);
  one.caller->completed(claim_of("k"));
  const auto claims = one.truth->claims_made.load();
  EXPECT_EQ(one.caller->claim(claim_of("k")).retention_left, fresh_for);
  EXPECT_EQ(one.truth->claims_made, claims);
}

TEST_F(tiered_copy_test, an_answer_that_may_not_be_stored_is_not_copied) {
  process one(*this);
  const auto request = claim_of("k");
  const auto change = settle_of(request, one.caller->leased(request));
  one.truth->settles = health::lost;
  EXPECT_FALSE(one.caller->settles({change}).at(0));
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::busy);
  one.truth->settles = health::well;
  EXPECT_EQ(one.caller->settle(change).outcome, settle_outcome::done);
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::replay);
}

TEST_F(tiered_copy_test, an_answer_that_may_be_released_is_not_replayed_from_its_copy) {
  process one(*this);
  const auto request = claim_of("k");
  one.caller->completed(request);
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::replay);
  metadata_.out = true;  // no poll ends the epoch
  one.truth->resolves = health::late;
  resolution freed;
  freed.id = request.id;
  EXPECT_FALSE(one.caller->try_resolve(freed));
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_F(tiered_copy_test, a_lease_of_a_former_epoch_makes_no_copy) {
  process one(*this);
  const auto request = claim_of("k");
  const auto held = one.caller->leased(request);
  const auto former = slot_of(request);
  one.caller->completed(claim_of("other"));
  resolution freed;
  freed.id = claim_of("other").id;
  one.caller->resolve(freed);  // begins another epoch
  one.wait_until_trusted();
  ASSERT_NE(slot_of(request), former);
  one.caller->settle(settle_of(request, held));
  const auto left = fast_caller_.find(former);
  EXPECT_TRUE(!left || left->state != observed_state::completed);
  EXPECT_EQ(one.caller->claim(claim_of("k")).kind, verdict_kind::replay);
}

}  // namespace
}  // namespace onceguard::testing
