// Batches, concurrent callers, tokens and reopening, on every store.
#include <gtest/gtest.h>

#include "store/contract/store_fixture.hpp"

namespace onceguard::testing {
namespace {

using batch_contract = store_fixture;
INSTANTIATE_TEST_SUITE_P(stores, batch_contract, ::testing::ValuesIn(engines), engine_name);

TEST_P(batch_contract, items_of_a_batch_are_handled_as_if_they_came_one_after_the_other) {
  const auto first = claim_of("same");
  const auto reply = caller_.claims(
      {first, claim_of("same"), claim_of("same", "other"), claim_of("another"), first});
  ASSERT_EQ(reply.size(), 5u);
  EXPECT_EQ(reply[0]->kind, verdict_kind::run);
  EXPECT_EQ(reply[1]->kind, verdict_kind::busy);
  EXPECT_EQ(reply[2]->kind, verdict_kind::mismatch);
  EXPECT_EQ(reply[3]->kind, verdict_kind::run);
  EXPECT_EQ(reply[4]->kind, verdict_kind::run);
  EXPECT_EQ(reply[4]->lease, reply[0]->lease);
  const auto complete = settle_of(first, reply[0]->lease);
  const auto settled = caller_.settles({complete, settle_of(first, reply[3]->lease), complete});
  EXPECT_EQ(settled[0]->outcome, settle_outcome::done);
  EXPECT_EQ(settled[1]->outcome, settle_outcome::stale);
  EXPECT_EQ(settled[2]->outcome, settle_outcome::done);
}

TEST_P(batch_contract, an_invalid_item_fails_no_other_item_of_its_batch) {
  auto bad = claim_of("bad");
  bad.about = nullptr;
  const auto reply = caller_.claims({claim_of("a"), bad, claim_of("b")});
  EXPECT_EQ(reply[0]->kind, verdict_kind::run);
  ASSERT_FALSE(reply[1]);
  EXPECT_EQ(reply[1].error().code, errc::invalid_argument);
  EXPECT_EQ(reply[2]->kind, verdict_kind::run);
}

TEST_P(batch_contract, an_empty_batch_is_answered) {
  EXPECT_TRUE(caller_.claims({}).empty());
  EXPECT_TRUE(caller_.settles({}).empty());
  EXPECT_TRUE(caller_.extends({}).empty());
}

TEST_P(batch_contract, tokens_grow_across_release_expiry_sweep_and_reopening) {
  token last = 0;
  const auto expect_greater = [&](const char* after) {
    const auto request = claim_of("k");
    const auto held = caller_.leased(request);
    EXPECT_GT(held.token, last) << after;
    last = held.token;
    return settle_of(request, held);
  };
  auto settle = expect_greater("nothing");
  settle.kind = settle_kind::release;
  caller_.settle(settle);
  settle = expect_greater("a release");
  caller_.settle(settle);
  advance(day);
  settle = expect_greater("its expiry");
  caller_.settle(settle);
  advance(day);
  expect_swept(1);
  settle = expect_greater("the sweep");
  settle.kind = settle_kind::release;
  caller_.settle(settle);
  advance(second);
  reopen();
  expect_greater("reopening");
}

TEST_P(batch_contract, the_identity_after_reopening_shows_whether_records_were_kept) {
  caller_.completed(claim_of("k"));
  const auto before = caller_.vitals();
  reopen();
  const auto after = caller_.vitals();
  EXPECT_EQ(after.identity == before.identity, delegate_->remembers());
  EXPECT_EQ(caller_.claim(claim_of("k")).kind,
            delegate_->remembers() ? verdict_kind::replay : verdict_kind::run);
}

TEST_P(batch_contract, the_generation_grows_with_granted_leases) {
  const auto before = caller_.vitals();
  caller_.leased(claim_of("a"));
  caller_.claim(claim_of("a"));
  const auto after = caller_.vitals();
  EXPECT_GT(after.generation, before.generation);
  EXPECT_EQ(after.identity, before.identity);
}

TEST_P(batch_contract, a_repeated_claim_gets_its_lease_beside_other_claims_of_the_key) {
  const auto mine = claim_of("k");
  const auto held = caller_.leased(mine);
  const auto reply = caller_.claims({claim_of("k"), repeat_of(mine), claim_of("k")});
  EXPECT_EQ(reply[0]->kind, verdict_kind::busy);
  ASSERT_EQ(reply[1]->kind, verdict_kind::run);
  EXPECT_EQ(reply[1]->lease.token, held.token);
  EXPECT_EQ(reply[2]->kind, verdict_kind::busy);
}

TEST_P(batch_contract, a_record_keeps_the_mark_of_a_claim_that_may_be_a_repeat) {
  auto request = claim_of("k");
  request.maybe_repeated = true;
  caller_.completed(request);
  EXPECT_TRUE(caller_.seen(request.id).stored.maybe_repeated);
}

TEST_P(batch_contract, a_stopped_store_refuses_calls_and_can_be_stopped_again) {
  store_->stop();
  store_->stop();
  const auto verdict = caller_.try_claim(claim_of("k"));
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, errc::stopped);
  EXPECT_EQ(verdict.error().effect, effect::none);
  EXPECT_EQ(caller_.try_find(claim_of("k").id).error().code, errc::stopped);
  EXPECT_EQ(caller_.try_sweep(10).error().code, errc::stopped);
}

TEST_P(batch_contract, many_callers_of_one_key_get_exactly_one_lease) {
  boost::asio::io_context context;
  int leases = 0;
  int busy = 0;
  for (int i = 0; i < 64; ++i) {
    auto count = [&](std::exception_ptr, std::vector<result<verdict>> items) {
      leases += items[0]->kind == verdict_kind::run ? 1 : 0;
      busy += items[0]->kind == verdict_kind::busy ? 1 : 0;
    };
    boost::asio::co_spawn(context, store_->claim({claim_of("k")}, patience), count);
  }
  context.run();
  EXPECT_EQ(leases, 1);
  EXPECT_EQ(busy, 63);
}

TEST_P(batch_contract, callers_on_several_threads_get_exactly_one_lease_per_key) {
  std::atomic<int> leases{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      blocking_store own(*store_);
      for (int i = 0; i < 50; ++i) {
        if (own.claim(claim_of("k" + std::to_string(i))).kind == verdict_kind::run) ++leases;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(leases, 50);
}

}  // namespace
}  // namespace onceguard::testing
