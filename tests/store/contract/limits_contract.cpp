// The limits of a duration mean what they say, on every store: the largest is for ever, and what is
// not positive is over at once. Nothing wraps, and no neighbour in a batch fails with it.
#include <gtest/gtest.h>

#include "store/contract/store_fixture.hpp"

namespace onceguard::testing {
namespace {

using limits_contract = store_fixture;
INSTANTIATE_TEST_SUITE_P(stores, limits_contract, ::testing::ValuesIn(engines), engine_name);

constexpr milliseconds largest[] = {milliseconds::max() - milliseconds(1), milliseconds::max()};
constexpr milliseconds none[] = {milliseconds(0), milliseconds(-1), milliseconds::min()};
/// Longer than all that a test could mean by a length.
constexpr milliseconds years = 20 * 365 * day;

std::string name_of(const char* prefix, milliseconds length) {
  return std::string(prefix) + std::to_string(length.count());
}

TEST_P(limits_contract, the_longest_lease_ends_never) {
  for (const auto length : largest) {
    auto request = claim_of(name_of("claimed", length));
    request.lease = length;
    const auto held = caller_.leased(request);
    auto renewed = claim_of(name_of("renewed", length));
    const auto kept = caller_.leased(renewed);
    auto longer = extend_of(renewed, kept);
    longer.lease = length;
    EXPECT_TRUE(caller_.extend(longer));
    for (const auto* each : {&request, &renewed}) {
      const auto twin = caller_.claim(claim_of(each->about->key));
      EXPECT_EQ(twin.kind, verdict_kind::busy) << each->about->key;
      EXPECT_GT(twin.retry_after, years) << each->about->key;
    }
    advance(years);
    EXPECT_EQ(caller_.claim(claim_of(request.about->key)).kind, verdict_kind::busy);
    EXPECT_EQ(caller_.settle(settle_of(request, held)).outcome, settle_outcome::done);
  }
}

TEST_P(limits_contract, a_lease_without_length_is_over_at_once_and_lets_nobody_run) {
  for (const auto length : none) {
    auto request = claim_of(name_of("lease", length));
    request.lease = length;
    const auto held = caller_.leased(request);
    EXPECT_EQ(caller_.claim(claim_of(request.about->key)).kind, verdict_kind::unknown);
    EXPECT_EQ(caller_.settle(settle_of(request, held)).outcome, settle_outcome::done);
    EXPECT_EQ(caller_.claim(claim_of(request.about->key)).kind, verdict_kind::replay);
  }
}

TEST_P(limits_contract, the_longest_retention_of_what_is_unknown_forgets_nothing) {
  for (const auto length : largest) {
    auto request = claim_of(name_of("unknown", length));
    request.unknown_retention = length;
    caller_.leased(request);
    advance(years);
    caller_.sweep();
    EXPECT_EQ(caller_.claim(claim_of(request.about->key)).kind, verdict_kind::unknown);
  }
}

TEST_P(limits_contract, a_retention_of_what_is_unknown_below_none_is_none) {
  for (const auto length : none) {
    auto request = claim_of(name_of("unknown", length));
    request.unknown_retention = length;
    caller_.leased(request);
    advance(day);
    caller_.sweep();
    EXPECT_EQ(caller_.claim(claim_of(request.about->key)).kind, verdict_kind::unknown);
  }
}

TEST_P(limits_contract, the_longest_retention_of_an_answer_is_for_ever) {
  for (const auto length : largest) {
    const auto request = claim_of(name_of("completed", length));
    auto change = settle_of(request, caller_.leased(request));
    change.retention = length;
    caller_.settle(change);
    EXPECT_EQ(caller_.seen(request.id).state, observed_state::completed);
    advance(years);
    caller_.sweep();
    EXPECT_EQ(caller_.claim(claim_of(request.about->key)).kind, verdict_kind::replay);
  }
}

TEST_P(limits_contract, an_answer_that_is_not_kept_is_gone_and_its_neighbours_are_not) {
  for (const auto length : none) {
    const auto request = claim_of(name_of("gone", length));
    const auto beside = claim_of(name_of("beside", length));
    auto change = settle_of(request, caller_.leased(request));
    change.retention = length;
    for (const auto& done : caller_.settles({change, settle_of(beside, caller_.leased(beside))})) {
      ASSERT_TRUE(done) << done.error().detail;
      EXPECT_EQ(done->outcome, settle_outcome::done);
    }
    EXPECT_EQ(caller_.claim(claim_of(request.about->key)).kind, verdict_kind::run);
    EXPECT_EQ(caller_.claim(claim_of(beside.about->key)).kind, verdict_kind::replay);
  }
}

TEST_P(limits_contract, the_longest_back_off_ends_never_and_none_at_once) {
  const auto after = [&](milliseconds pause) {
    const auto request = claim_of(name_of("failed", pause));
    auto change = settle_of(request, caller_.leased(request), settle_kind::fail);
    change.backoff = change.backoff_max = pause;
    change.retention = milliseconds::max();
    EXPECT_EQ(caller_.settle(change).outcome, settle_outcome::done);
    return caller_.claim(claim_of(request.about->key));
  };
  for (const auto pause : largest) {
    const auto next = after(pause);
    EXPECT_EQ(next.kind, verdict_kind::backoff);
    EXPECT_GT(next.retry_after, years);
  }
  for (const auto pause : none) EXPECT_EQ(after(pause).kind, verdict_kind::run);
}

TEST_P(limits_contract, a_back_off_doubles_up_to_the_longest) {
  const auto request = claim_of("failed");
  for (int i = 0; i < 3; ++i) {
    auto change = settle_of(request, caller_.leased(claim_of("failed")), settle_kind::fail);
    change.backoff = second;
    change.backoff_max = milliseconds::max();
    EXPECT_EQ(caller_.settle(change).outcome, settle_outcome::done);
    EXPECT_EQ(caller_.claim(claim_of("failed")).retry_after, (1 << i) * second);
    advance((1 << i) * second);
  }
}

TEST_P(limits_contract, an_answer_by_hand_is_kept_as_long_as_one_of_a_run) {
  for (const auto length : largest) {
    auto request = claim_of(name_of("unknown", length));
    caller_.leased(request);
    advance(lease_length);
    resolution ended;
    ended.id = request.id;
    ended.completed = true;
    ended.answer = answer_of();
    ended.retention = length;
    EXPECT_EQ(caller_.resolve(ended).outcome, resolve_outcome::done);
    advance(years);
    EXPECT_EQ(caller_.claim(claim_of(request.about->key)).kind, verdict_kind::replay);
  }
}

TEST_P(limits_contract, a_call_has_all_the_time_of_the_world) {
  for (const auto timeout : largest) {
    const auto request = claim_of(name_of("call", timeout));
    const auto got = caller_.try_claim(request, timeout);
    ASSERT_TRUE(got) << got.error().detail;
    EXPECT_TRUE(caller_.extends({extend_of(request, got->lease)}, timeout).at(0).value());
    EXPECT_TRUE(caller_.settles({settle_of(request, got->lease)}, timeout).at(0));
  }
}

TEST_P(limits_contract, lists_by_any_age) {
  caller_.completed(claim_of("k"));
  advance(second);
  const auto listed = [&](std::optional<milliseconds> older, std::optional<milliseconds> younger) {
    list_filter filter;
    filter.older = older;
    filter.younger = younger;
    return caller_.list(filter).records.size();
  };
  for (const auto length : largest) {
    EXPECT_EQ(listed(length, {}), 0u);
    EXPECT_EQ(listed({}, length), 1u);
  }
  for (const auto length : none) {
    EXPECT_EQ(listed(length, {}), 1u);
    EXPECT_EQ(listed({}, length), 0u);
  }
}

}  // namespace
}  // namespace onceguard::testing
