// Import of records from another store, on every store.
#include <gtest/gtest.h>

#include "store/contract/store_fixture.hpp"
#include "store/imported_record.hpp"
#include "store/memory/memory_store.hpp"

namespace onceguard::testing {
namespace {

class import_contract : public store_fixture {
 protected:
  /// The record of the source store, as an import would move the record now.
  imported_record moving(const claim& request) {
    return make_imported_record(former_.find(request.id).value(), delegate_->clock.wall_ms());
  }
  imported_record completed(const std::string& key) {
    const auto request = claim_of(key);
    former_.completed(request);
    return moving(request);
  }

  memory_store source_{delegate_->clock};
  blocking_store former_{source_};
};
INSTANTIATE_TEST_SUITE_P(stores, import_contract, ::testing::ValuesIn(engines), engine_name);

TEST_P(import_contract, an_imported_completed_record_is_replayed_for_the_rest_of_its_retention) {
  const auto request = claim_of("k");
  const auto held = former_.leased(request);
  advance(second);
  former_.settle(settle_of(request, held));
  advance(2 * second);
  ASSERT_EQ(caller_.import_record(moving(request)), import_outcome::imported);
  const auto verdict = caller_.claim(claim_of("k"));
  ASSERT_EQ(verdict.kind, verdict_kind::replay);
  EXPECT_EQ(*verdict.answer, *answer_of());
  EXPECT_EQ(verdict.retention_left, day - 2 * second);
  EXPECT_EQ(caller_.claim(claim_of("k", "another")).kind, verdict_kind::mismatch);
  const auto seen = caller_.find(request.id).value();
  const auto was = former_.find(request.id).value();
  EXPECT_EQ(seen.stored.token, held.token);
  EXPECT_EQ(seen.stored.claim_id, held.claim_id);
  EXPECT_EQ(seen.stored.claimed_at_wall, was.stored.claimed_at_wall);
  EXPECT_EQ(seen.stored.settled_at_wall, was.stored.settled_at_wall);
  EXPECT_EQ(seen.stored.about->path, was.stored.about->path);
  EXPECT_EQ(seen.stored.about->run_timeout, was.stored.about->run_timeout);
  advance(day);
  EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_P(import_contract, an_import_keeps_every_field_of_a_record) {
  const auto request = claim_of("k");
  former_.completed(request);
  auto value = moving(request);
  auto& r = value.stored;
  r.kept = answer_kept::status_only;
  r.attempt = 7;
  r.by_operator = r.incident = r.earlier_unknown = r.maybe_repeated = r.by_application = true;
  r.why = unknown_reason::upstream_status;
  r.why_status = 502;
  r.failures = 3;
  ASSERT_EQ(caller_.import_record(value), import_outcome::imported);
  const auto seen = caller_.seen(request.id).stored;
  EXPECT_EQ(seen.kept, answer_kept::status_only);
  EXPECT_EQ(*seen.answer, *answer_of());
  EXPECT_EQ(seen.attempt, 7u);
  EXPECT_TRUE(seen.by_operator && seen.incident && seen.earlier_unknown);
  EXPECT_TRUE(seen.maybe_repeated && seen.by_application);
  EXPECT_EQ(seen.why, unknown_reason::upstream_status);
  EXPECT_EQ(seen.why_status, 502);
  EXPECT_EQ(seen.failures, 3u);
}

TEST_P(import_contract, an_imported_running_record_is_unknown_and_loses_its_holder) {
  auto running = claim_of("running");
  const auto held = former_.leased(running);
  auto begun = claim_of("begun");
  begun.into_started = true;
  former_.leased(begun);
  for (const auto* request : {&running, &begun}) {
    EXPECT_EQ(caller_.import_record(moving(*request)), import_outcome::imported);
    EXPECT_EQ(caller_.seen(request->id).state, observed_state::unknown);
    EXPECT_EQ(caller_.seen(request->id).retention_left, milliseconds(0));
    auto again = claim_of(request->about->key);
    EXPECT_EQ(caller_.claim(again).kind, verdict_kind::unknown);
  }
  resolution change;
  change.id = running.id;
  EXPECT_EQ(caller_.resolve(change).retry_after, running.about->run_timeout);
  advance(running.about->run_timeout);
  EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::done);
  EXPECT_GT(caller_.leased(claim_of("running")).token, held.token);
}

TEST_P(import_contract, an_imported_record_that_provably_had_not_begun_is_taken_over) {
  auto request = claim_of("k");
  request.into_started = true;
  const auto held = former_.leased(request);
  advance(lease_length);
  ASSERT_EQ(caller_.import_record(moving(request)), import_outcome::imported);
  const auto next = caller_.leased(claim_of("k"));
  EXPECT_GT(next.token, held.token);
  EXPECT_EQ(next.attempt, 2u);
}

TEST_P(import_contract, an_imported_unknown_record_keeps_its_reason_and_its_probe_pause) {
  const auto request = claim_of("k");
  auto change = settle_of(request, former_.leased(request), settle_kind::abandon);
  change.why = unknown_reason::upstream_timeout;
  change.probe_pause = 10 * second;
  former_.settle(change);
  advance(4 * second);
  ASSERT_EQ(caller_.import_record(moving(request)), import_outcome::imported);
  auto again = claim_of("k");
  again.unknown = unknown_policy::probe;
  const auto verdict = caller_.claim(again);
  EXPECT_EQ(verdict.kind, verdict_kind::unknown);
  EXPECT_EQ(verdict.why, unknown_reason::upstream_timeout);
  EXPECT_EQ(verdict.since, 4 * second);
  EXPECT_EQ(verdict.retry_after, 6 * second);
  advance(6 * second);
  EXPECT_TRUE(caller_.leased(again).probe);
}

TEST_P(import_contract, an_imported_unsettled_record_keeps_its_unknown_retention) {
  auto request = claim_of("k");
  request.unknown_retention = day;
  former_.leased(request);
  advance(lease_length + second);
  ASSERT_EQ(caller_.import_record(moving(request)), import_outcome::imported);
  EXPECT_EQ(caller_.seen(request.id).retention_left, day - second);
  EXPECT_EQ(caller_.seen(request.id).stored.unknown_retention_ms, day.count());
  advance(day - second);
  EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_P(import_contract, an_imported_failed_record_backs_off_for_the_rest_of_its_pause) {
  const auto request = claim_of("k");
  auto change = settle_of(request, former_.leased(request), settle_kind::fail);
  change.backoff = 10 * second;
  former_.settle(change);
  advance(4 * second);
  ASSERT_EQ(caller_.import_record(moving(request)), import_outcome::imported);
  const auto verdict = caller_.claim(claim_of("k"));
  EXPECT_EQ(verdict.kind, verdict_kind::backoff);
  EXPECT_EQ(verdict.retry_after, 6 * second);
  advance(6 * second);
  EXPECT_EQ(caller_.leased(claim_of("k")).attempt, 2u);
}

TEST_P(import_contract, an_imported_released_record_refuses_its_claim_and_keeps_its_attempts) {
  const auto request = claim_of("k");
  const auto held = former_.leased(request);
  former_.settle(settle_of(request, held, settle_kind::release));
  ASSERT_EQ(caller_.import_record(moving(request)), import_outcome::imported);
  EXPECT_EQ(caller_.claim(request).kind, verdict_kind::refused);
  const auto next = caller_.leased(claim_of("k", "another"));
  EXPECT_EQ(next.attempt, 2u);
  EXPECT_GT(next.token, held.token);
}

TEST_P(import_contract, later_tokens_of_a_key_are_above_its_imported_token) {
  auto request = completed("k");
  request.stored.token += 1'000'000'000;  // as from a store whose clock was ahead
  ASSERT_EQ(caller_.import_record(request), import_outcome::imported);
  if (delegate_->remembers()) reopen();
  EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::replay);
  advance(request.retention_left + second);
  EXPECT_GT(caller_.leased(claim_of("k")).token, request.stored.token);
}

TEST_P(import_contract, tokens_after_an_import_are_above_those_of_records_lost_by_the_source) {
  caller_.leased(claim_of("early"));
  advance(day);
  const auto request = completed("k");
  const auto forgotten = former_.leased(claim_of("forgotten")).token;
  ASSERT_EQ(caller_.import_record(request), import_outcome::imported);
  EXPECT_GT(caller_.leased(claim_of("forgotten")).token, forgotten);
}

TEST_P(import_contract, a_second_import_changes_nothing_and_a_conflict_keeps_the_stored_record) {
  const auto request = claim_of("k");
  const auto held = former_.leased(request);
  const auto under_way = moving(request);
  ASSERT_EQ(caller_.import_record(under_way), import_outcome::imported);
  EXPECT_EQ(caller_.import_record(under_way), import_outcome::already_there);
  former_.settle(settle_of(request, held));
  EXPECT_EQ(caller_.import_record(moving(request)), import_outcome::conflict);
  EXPECT_EQ(caller_.seen(request.id).state, observed_state::unknown);
  caller_.completed(claim_of("both"));
  EXPECT_EQ(caller_.import_record(completed("both")), import_outcome::conflict);
  EXPECT_EQ(caller_.counted(observed_state::completed), 1u);
  EXPECT_EQ(caller_.counted(observed_state::unknown), 1u);
}

TEST_P(import_contract, an_import_replaces_an_expired_record) {
  caller_.completed(claim_of("k"));
  advance(day);
  const auto request = completed("k");
  EXPECT_EQ(caller_.import_record(request), import_outcome::imported);
  EXPECT_EQ(caller_.seen(request.id).stored.token, request.stored.token);
  EXPECT_EQ(caller_.list().records.size(), 1u);
}

TEST_P(import_contract, imported_records_are_listed_in_the_order_of_their_import) {
  for (const char* key : {"b", "a", "c"}) caller_.import_record(completed(key));
  std::string seen;
  for (const auto& each : caller_.list().records) seen += each.stored.about->key;
  EXPECT_EQ(seen, "bac");
}

TEST_P(import_contract, an_import_without_a_subject_is_refused) {
  auto request = completed("k");
  request.stored.about = nullptr;
  EXPECT_EQ(caller_.try_import(request).error().code, errc::invalid_argument);
}

TEST_P(import_contract, work_in_steps_keeps_its_recovery_point_or_is_refused) {
  const auto request = claim_of("k");
  former_.settle(settle_of(request, former_.leased(request), settle_kind::abandon));
  auto value = moving(request);
  value.recovery = recovery_point{"pay", std::string("\1\0\xff", 3)};
  const auto imported = caller_.try_import(value);
  if (!store_->traits().transactional) {
    ASSERT_FALSE(imported);
    EXPECT_EQ(imported.error().code, errc::invalid_argument);
    EXPECT_FALSE(caller_.find(request.id));
    return;
  }
  ASSERT_EQ(imported.value(), import_outcome::imported);
  EXPECT_EQ(caller_.seen(request.id).recovery, value.recovery);
  EXPECT_EQ(caller_.try_import(value).value(), import_outcome::already_there);
  // Whoever completes the work does not need the steps any more.
  resolution ended;
  ended.id = request.id;
  ended.completed = ended.force = true;
  ended.answer = answer_of();
  caller_.resolve(ended);
  EXPECT_EQ(caller_.seen(request.id).recovery, std::nullopt);
}

}  // namespace
}  // namespace onceguard::testing
