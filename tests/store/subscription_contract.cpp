// Hearing of settles, for every store: who can't tell says nothing, and nobody minds being asked.
#include <gtest/gtest.h>

#include "store/store_fixture.hpp"

namespace onceguard::testing {
namespace {

using subscription_contract = store_fixture;
INSTANTIATE_TEST_SUITE_P(stores, subscription_contract, ::testing::ValuesIn(engines), engine_name);

TEST_P(subscription_contract, a_listener_comes_and_goes_at_any_time) {
  for (int i = 0; i < 3; ++i) {
    store_->on_settled([](const std::vector<std::uint64_t>&) {});
    const auto asked = claim_of("k" + std::to_string(i));
    desk_.completed(asked);
    if (i == 1) store_->on_settled(nullptr);
    EXPECT_EQ(desk_.claim(claim_of("k" + std::to_string(i))).kind, verdict_kind::replay);
  }
}

TEST_P(subscription_contract, a_store_may_stop_while_somebody_listens) {
  store_->on_settled([](const std::vector<std::uint64_t>&) {});
  desk_.completed(claim_of("k"));
  store_->stop();
  store_->on_settled(nullptr);
}

}  // namespace
}  // namespace onceguard::testing
