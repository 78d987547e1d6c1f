// A try of a claim that meets the lease of another try of the same claim.
#include "engine/earlier_try.hpp"

#include "base/random.hpp"
#include "engine/engine_fixture.hpp"

namespace onceguard {
namespace {

class earlier_try_test : public engine_over_faults {
 protected:
  claim_id repeated_{};
  claim granted_;  // to the other try
  lease held_;
  std::stop_source caller_;

  void SetUp() override {
    engine_over_faults::SetUp();
    base::random_bytes(repeated_);
    granted_.id = op().id;
    granted_.about = op().about;
    granted_.claim_id = make_try_of(repeated_);
    std::vector<claim> batch(1, granted_);
    held_ = run(io, inner.claim(batch, milliseconds(100)))[0]->lease;
  }
  void settle(settle_kind kind) {
    settle_terms terms;
    terms.kind = kind;
    std::vector<settlement> batch(1, settle_lease(granted_.id, held_, granted_.about, terms));
    ASSERT_TRUE(run(io, inner.settle(batch, milliseconds(100)))[0]);
  }
  record_holder ended() {
    return *run(
        io, end_earlier_try(store, granted_.id, repeated_, caller_.get_token(), milliseconds(100)));
  }
};

TEST_F(earlier_try_test, its_lease_ends_and_the_key_is_free) {
  EXPECT_EQ(ended(), record_holder::nobody);
  EXPECT_EQ(state(), observed_state::released);
}

TEST_F(earlier_try_test, a_lease_that_ran_out_ends_too) {
  clock.advance(2 * granted_.lease);
  ASSERT_EQ(state(), observed_state::unknown);
  EXPECT_EQ(ended(), record_holder::nobody);
  EXPECT_EQ(state(), observed_state::released);
}

/// The claim was answered through the other try, and so it is the later one.
TEST_F(earlier_try_test, a_lease_that_was_abandoned_stays_in_doubt) {
  settle(settle_kind::abandon);
  EXPECT_EQ(ended(), record_holder::another);
  EXPECT_EQ(state(), observed_state::unknown);
}

/// Who has left may have sent the claim again, and work under the lease that this try meets.
TEST_F(earlier_try_test, nobody_who_has_left_ends_a_lease) {
  store.fail(store_call::find, store_fault::delay_after, 1);
  std::optional<result<record_holder>> met;
  asio::co_spawn(
      io, end_earlier_try(store, granted_.id, repeated_, caller_.get_token(), milliseconds(100)),
      [&met](std::exception_ptr, result<record_holder> got) { met = got; });
  until([&] { return store.waiting() == 1; });
  caller_.request_stop();
  store.let_go();
  until([&] { return met.has_value(); });
  EXPECT_EQ(met->value(), record_holder::another);
  EXPECT_EQ(state(), observed_state::in_progress);
}

TEST_F(earlier_try_test, the_lease_of_another_claim_stays) {
  base::random_bytes(repeated_);
  EXPECT_EQ(ended(), record_holder::another);
  EXPECT_EQ(state(), observed_state::in_progress);
}

}  // namespace
}  // namespace onceguard
