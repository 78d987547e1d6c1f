// What one waiter hears counts for others under the same policy only.
#include "engine/twin_fixture.hpp"

namespace onceguard {
namespace {

TEST_F(twin, that_fails_says_nothing_to_a_waiter_under_another_policy) {
  policy.backoff = policy.backoff_max = milliseconds(60'000);
  first.ends = settle_kind::fail;
  begin(first);
  gather(1);
  const auto another = policy;
  auto other = op();
  other.policy = &another;
  std::optional<outcome> ended;
  asio::co_spawn(io, operate(*tested, io, std::move(other), second),
                 [&](std::exception_ptr, outcome got) { ended = std::move(got); });
  gather(0);
  const auto claims = store.made(store_call::claim);
  let_go();
  until([&] { return ended.has_value(); });
  expect_all(1, outcome_kind::backoff);
  EXPECT_EQ(ended->kind, outcome_kind::backoff);
  EXPECT_EQ(store.made(store_call::claim), claims + 2) << "each asks the store for itself";
}

}  // namespace
}  // namespace onceguard
