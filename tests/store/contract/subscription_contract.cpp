// Listeners for settles, on every store: stores that announce nothing accept a listener and ignore
// it. Stores that announce settles announce them to other processes.
#include <gtest/gtest.h>

#include "store/contract/settled_notices.hpp"
#include "store/contract/store_fixture.hpp"

namespace onceguard::testing {
namespace {

using subscription_contract = store_fixture;
INSTANTIATE_TEST_SUITE_P(stores, subscription_contract, ::testing::ValuesIn(engines), engine_name);

TEST_P(subscription_contract, a_listener_can_be_set_and_removed_at_any_time) {
  for (int i = 0; i < 3; ++i) {
    store_->on_settled([](const std::vector<std::uint64_t>&) {});
    const auto request = claim_of("k" + std::to_string(i));
    caller_.completed(request);
    if (i == 1) store_->on_settled(nullptr);
    EXPECT_EQ(caller_.claim(claim_of("k" + std::to_string(i))).kind, verdict_kind::replay);
  }
}

TEST_P(subscription_contract, a_store_can_stop_while_a_listener_is_set) {
  store_->on_settled([](const std::vector<std::uint64_t>&) {});
  caller_.completed(claim_of("k"));
  store_->stop();
  store_->on_settled(nullptr);
}

class listening_contract : public store_fixture {
 protected:
  std::unique_ptr<store> other_ = delegate_->open();
};
INSTANTIATE_TEST_SUITE_P(stores, listening_contract,
                         ::testing::ValuesIn(engines_that(&engine_under_test::announces)),
                         engine_name);

TEST_P(listening_contract, every_kind_of_settle_is_announced) {
  settled_notices notices;
  other_->on_settled(notices.listener());
  await_notice(caller_, notices, "first");
  for (const auto kind :
       {settle_kind::complete, settle_kind::fail, settle_kind::release, settle_kind::abandon}) {
    const auto request = claim_of("kind " + std::to_string(static_cast<int>(kind)));
    auto change = settle_of(request, caller_.leased(request));
    change.kind = kind;
    caller_.settle(change);
    notices.await(request.id);
  }
  other_->on_settled(nullptr);
}

TEST_P(listening_contract, a_new_listener_replaces_the_previous_listener) {
  settled_notices before;
  settled_notices after;
  other_->on_settled(before.listener());
  await_notice(caller_, before, "before");
  other_->on_settled(after.listener());
  const auto then = before.size();
  await_notice(caller_, after, "after");
  EXPECT_EQ(before.size(), then);
  other_->on_settled(nullptr);
  const auto last = after.size();
  caller_.completed(claim_of("for nobody"));
  // If the subscriber's connection also carries claims, the reply to this claim comes after the
  // announcement.
  EXPECT_EQ(blocking_store(*other_).claim(claim_of("for nobody")).kind, verdict_kind::replay);
  EXPECT_EQ(after.size(), last);
}

}  // namespace
}  // namespace onceguard::testing
