// How many records, with how many bytes, a scope may leave within the retention.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine_fixture.hpp"
#include "engine/scope_quotas.hpp"

namespace onceguard {
namespace {

using limit = scope_quotas::limit;
using std::chrono::seconds;

/// A retention of sixteen seconds.
route_policy granting_records(std::uint32_t records, std::size_t bytes = 0) {
  route_policy out;
  out.quota_live_records = records;
  out.quota_live_bytes = bytes;
  out.retention = seconds(16);
  return out;
}

class quotas_of_records : public ::testing::Test {
 protected:
  scope_quotas counted;
  base::boot_clock::time_point now = base::boot_clock::time_point(seconds(1'000));
  std::vector<scope_quotas::slot> held;
  record_id last_record{};
  milliseconds wait{0};

  static subject about(unsigned char scope, std::string route = "/pay") {
    subject out;
    out.scope[0] = scope;
    out.route = std::move(route);
    return out;
  }
  record_id next_record() {
    ++last_record[0];
    return last_record;
  }
  limit take(const subject& caller, const route_policy& policy) {
    auto got = counted.take(next_record(), caller, policy, now);
    wait = got.retry_after;
    if (got.held.taken()) held.push_back(std::move(got.held));
    return got.over;
  }
  /// A new key whose record stays, with an answer of so many bytes.
  limit complete(const subject& caller, const route_policy& policy, std::uint64_t bytes = 0) {
    auto got = counted.take(next_record(), caller, policy, now);
    wait = got.retry_after;
    got.held.keep_key();
    got.held.keep_record();
    got.held.keep_bytes(bytes);
    got.held.leave(now);
    return got.over;
  }
};

TEST_F(quotas_of_records, count_records_for_their_retention) {
  const auto policy = granting_records(2);
  EXPECT_EQ(complete(about(1), policy), limit::none);
  now += seconds(4);
  EXPECT_EQ(complete(about(1), policy), limit::none);
  EXPECT_EQ(complete(about(1), policy), limit::live_records);
  EXPECT_GE(wait, seconds(12));
  EXPECT_LE(wait, milliseconds(13'100));
  EXPECT_EQ(complete(about(2), policy), limit::none) << "another scope";
  EXPECT_EQ(complete(about(1, "/other"), policy), limit::none) << "another route";
  now += seconds(12);
  EXPECT_EQ(complete(about(1), policy), limit::live_records) << "sixteen seconds are not over";
  now += wait;
  EXPECT_EQ(complete(about(1), policy), limit::none);
  EXPECT_EQ(complete(about(1), policy), limit::live_records);
}

TEST_F(quotas_of_records, count_bytes) {
  const auto policy = granting_records(0, 1'000);
  EXPECT_EQ(complete(about(1), policy, 600), limit::none);
  EXPECT_EQ(complete(about(1), policy, 399), limit::none);
  EXPECT_EQ(complete(about(1), policy, 5'000), limit::none) << "who is below it may go beyond";
  EXPECT_EQ(complete(about(1), policy), limit::live_bytes);
  EXPECT_GE(wait, seconds(16));
  now += wait;
  EXPECT_EQ(complete(about(1), policy, 1'000), limit::none);
  EXPECT_EQ(complete(about(1), policy), limit::live_bytes);
}

TEST_F(quotas_of_records, say_when_no_limit_is_in_the_way) {
  const auto policy = granting_records(2, 1'000);
  EXPECT_EQ(complete(about(1), policy, 10), limit::none);
  now += seconds(8);
  EXPECT_EQ(complete(about(1), policy, 2'000), limit::none);
  EXPECT_EQ(complete(about(1), policy), limit::live_records);
  EXPECT_GE(wait, seconds(16)) << "until the first is over the second's bytes are still there";
  now += seconds(10);
  EXPECT_EQ(complete(about(1), policy), limit::live_bytes);
}

TEST_F(quotas_of_records, count_no_record_that_was_released_and_no_repeat) {
  const auto policy = granting_records(1);
  for (int time = 0; time < 3; ++time) {
    auto released = counted.take(next_record(), about(1), policy, now);
    EXPECT_EQ(released.over, limit::none);
    released.held.keep_key();
    released.held.keep_record();
    released.held.drop_record();
    released.held.leave(now);
    auto unguarded = counted.take(next_record(), about(1), policy, now);
    EXPECT_EQ(unguarded.over, limit::none);
    unguarded.held.keep_key();
    unguarded.held.leave(now);
    EXPECT_TRUE(counted.take_known(next_record(), about(1), policy, now).taken());
  }
  EXPECT_EQ(complete(about(1), policy), limit::none);
  EXPECT_EQ(complete(about(1), policy), limit::live_records);
}

TEST_F(quotas_of_records, count_what_runs_with_what_is_there) {
  const auto policy = granting_records(2);
  EXPECT_EQ(complete(about(1), policy), limit::none);
  EXPECT_EQ(take(about(1), policy), limit::none);
  EXPECT_EQ(take(about(1), policy), limit::live_records);
  EXPECT_EQ(wait, milliseconds(1'000)) << "what runs may be released soon";
  held.clear();
  EXPECT_EQ(take(about(1), policy), limit::none);
}

TEST_F(quotas_of_records, are_apart_for_policies_with_another_retention) {
  auto policy = granting_records(1);
  EXPECT_EQ(complete(about(1), policy), limit::none);
  EXPECT_EQ(complete(about(1), policy), limit::live_records);
  policy.retention = seconds(17);
  EXPECT_EQ(complete(about(1), policy), limit::none);
  EXPECT_EQ(complete(about(1), granting_records(1, 7)), limit::none);
  EXPECT_EQ(complete(about(1), granting_records(1)), limit::live_records);
}

TEST_F(quotas_of_records, are_none_for_who_limits_the_rate_alone) {
  route_policy policy;
  policy.quota_new_keys = 100;
  for (int time = 0; time < 50; ++time) EXPECT_EQ(complete(about(1), policy), limit::none);
}

// ---- in the engine

TEST_F(engine_over_faults, a_scope_with_all_its_records_brings_nothing_new_and_gets_its_repeats) {
  policy.quota_live_records = 2;
  counted_work w;
  EXPECT_EQ(execute(w, op("a")).kind, outcome_kind::ran);
  EXPECT_EQ(execute(w, op("b")).kind, outcome_kind::ran);
  const auto refused = execute(w, op("c"));
  EXPECT_EQ(refused.kind, outcome_kind::over_quota);
  EXPECT_GE(refused.retry_after, policy.retention - milliseconds(60'000));
  EXPECT_EQ(execute(w, op("a")).kind, outcome_kind::replay);
  EXPECT_EQ(execute(w, op("b", 2)).kind, outcome_kind::mismatch);
  EXPECT_EQ(w.runs, 2);
}

TEST_F(engine_over_faults, a_record_counts_once_whatever_becomes_of_it_unless_it_was_released) {
  policy.quota_live_records = 2;
  counted_work releasing;
  releasing.ends = settle_kind::release;
  for (const auto* key : {"r1", "r2", "r3"}) {
    EXPECT_EQ(execute(releasing, op(key)).kind, outcome_kind::ran);
  }
  counted_work failing;
  failing.ends = settle_kind::fail;
  for (int attempt = 1; attempt <= 3; ++attempt) {
    EXPECT_EQ(execute(failing, op("failing")).kind, outcome_kind::ran);
    clock.advance(milliseconds(60'000));
  }
  counted_work w;
  EXPECT_EQ(execute(w, op("second")).kind, outcome_kind::ran);
  EXPECT_EQ(execute(w, op("third")).kind, outcome_kind::over_quota);
}

TEST_F(engine_over_faults, a_release_that_the_store_takes_later_leaves_no_record) {
  policy.quota_live_records = 1;
  store.fail(store_call::settle, store_fault::before);
  counted_work releasing;
  releasing.ends = settle_kind::release;
  EXPECT_EQ(execute(releasing, op("released")).kind, outcome_kind::unrecorded);
  store.heal_all();
  counted_work w;
  EXPECT_EQ(execute(w, op("other")).kind, outcome_kind::ran);
}

TEST_F(engine_over_faults, a_record_that_nobody_settled_counts_too) {
  policy.quota_live_records = 1;
  {
    const auto dropped = run(io, tested->claim(io, op("dropped")));
    ASSERT_TRUE(dropped.lease);
  }
  counted_work w;
  EXPECT_EQ(execute(w, op("other")).kind, outcome_kind::over_quota);
}

TEST_F(engine_over_faults, answers_count_by_their_bytes) {
  policy.quota_live_bytes = 10;
  const auto settle_with = [&](const char* key, std::string body) {
    auto held = run(io, tested->claim(io, op(key)));
    if (!held.lease) return held.outcome.kind;
    settle_terms terms;
    auto kept = std::make_shared<answer>();
    kept->status = 200;
    kept->headers = {{"a", "bc"}};
    kept->body = std::move(body);
    terms.answer = std::move(kept);
    terms.kept = answer_kept::full;
    return run(io, held.lease->settle(std::move(terms))).kind;
  };
  EXPECT_EQ(settle_with("six", "123456"), outcome_kind::ran);  // and three of its header
  EXPECT_EQ(settle_with("three", ""), outcome_kind::ran);
  EXPECT_EQ(settle_with("more", ""), outcome_kind::over_quota);
}

}  // namespace
}  // namespace onceguard
