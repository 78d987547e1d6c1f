// Queries and resolutions by operators, on every store.
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/store_fixture.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using operator_contract = store_fixture;
INSTANTIATE_TEST_SUITE_P(stores, operator_contract, ::testing::ValuesIn(engines), engine_name);

TEST_P(operator_contract, resolve_ends_an_unknown_record_as_completed_or_released) {
  for (const bool completed : {true, false}) {
    const auto request = claim_of(completed ? "did" : "did not");
    caller_.leased(request);
    advance(lease_length + request.about->run_timeout);
    resolution change;
    change.id = request.id;
    change.completed = completed;
    if (completed) change.answer = answer_of("by hand");
    EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::done);
    EXPECT_TRUE(caller_.seen(request.id).stored.by_operator);
    EXPECT_EQ(caller_.claim(claim_of(request.about->key)).kind,
              completed ? verdict_kind::replay : verdict_kind::run);
  }
}

TEST_P(operator_contract, resolve_is_refused_while_the_work_may_still_run) {
  const auto request = claim_of("k");
  caller_.leased(request);
  resolution change;
  change.id = request.id;
  EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::running);
  advance(lease_length);
  const auto reply = caller_.resolve(change);
  EXPECT_EQ(reply.outcome, resolve_outcome::running);
  EXPECT_EQ(reply.retry_after, request.about->run_timeout);
  change.force = true;
  EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::done);
}

TEST_P(operator_contract, a_completion_repeated_after_an_operators_release_is_not_stale) {
  const auto request = claim_of("k");
  const auto end = settle_of(request, caller_.leased(request));
  resolution change;
  change.id = request.id;
  change.force = true;
  EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::done);
  EXPECT_EQ(caller_.settle(end).outcome, settle_outcome::incident);
  EXPECT_FALSE(caller_.seen(request.id).stored.by_operator);
  // The holder repeats the settle because the reply was lost. A holder that is answered `stale`
  // would withhold its answer.
  EXPECT_EQ(caller_.settle(end).outcome, settle_outcome::done);
  EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::replay);
}

TEST_P(operator_contract, resolve_reports_an_absent_or_already_completed_record) {
  resolution request;
  request.id = claim_of("nobody").id;
  EXPECT_EQ(caller_.resolve(request).outcome, resolve_outcome::not_found);
  const auto question = claim_of("k");
  caller_.completed(question);
  request.id = question.id;
  request.completed = true;
  EXPECT_EQ(caller_.resolve(request).outcome, resolve_outcome::already_completed);
}

TEST_P(operator_contract, resolve_adds_a_missing_answer_and_replaces_no_stored_answer) {
  for (const auto kept : {answer_kept::none, answer_kept::too_large, answer_kept::streamed}) {
    const auto request = claim_of("k" + std::to_string(static_cast<int>(kept)));
    auto end = settle_of(request, caller_.leased(request), settle_kind::complete);
    end.answer = nullptr;
    end.kept = kept;
    end.retention = 60 * second;
    caller_.settle(end);
    EXPECT_EQ(caller_.claim(request).kept, kept);
    const auto forgotten = caller_.vitals().forgotten;
    advance(second);
    resolution change;
    change.id = request.id;
    change.completed = true;
    change.retention = 3'600 * second;
    EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::already_completed);
    change.answer = answer_of("by hand");
    const auto reply = caller_.resolve(change);
    EXPECT_EQ(reply.outcome, resolve_outcome::done);
    EXPECT_TRUE(reply.forgets_answer);
    EXPECT_EQ(caller_.vitals().forgotten, forgotten + 1);
    const auto seen = caller_.find(request.id);
    ASSERT_TRUE(seen);
    EXPECT_TRUE(seen->stored.by_operator);
    EXPECT_LE(seen->retention_left, 60 * second);
    const auto repeat = caller_.claim(request);
    ASSERT_EQ(repeat.kind, verdict_kind::replay);
    EXPECT_EQ(repeat.kept, answer_kept::full);
    ASSERT_TRUE(repeat.answer);
    EXPECT_EQ(*repeat.answer, *change.answer);
    change.answer = answer_of("another");
    change.force = true;
    EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::already_completed);
    EXPECT_EQ(caller_.vitals().forgotten, forgotten + 1);
    EXPECT_EQ(*caller_.claim(request).answer, *answer_of("by hand"));
  }
}

TEST_P(operator_contract, resolve_does_not_replace_a_status_only_answer) {
  const auto request = claim_of("k");
  auto end = settle_of(request, caller_.leased(request), settle_kind::complete);
  end.answer = answer_of("");
  end.kept = answer_kept::status_only;
  caller_.settle(end);
  resolution change;
  change.id = request.id;
  change.completed = true;
  change.answer = answer_of("by hand");
  EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::already_completed);
}

TEST_P(operator_contract, an_answer_that_an_operator_releases_is_counted_as_forgotten) {
  const auto request = claim_of("k");
  caller_.completed(request);
  EXPECT_EQ(caller_.vitals().forgotten, 0u);
  resolution change;
  change.id = request.id;
  EXPECT_TRUE(caller_.resolve(change).forgets_answer);
  EXPECT_EQ(caller_.vitals().forgotten, 1u);
  EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_P(operator_contract, a_release_keeps_what_was_completed_meanwhile) {
  const auto request = claim_of("k");
  caller_.completed(request);
  resolution change;
  change.id = request.id;
  change.keep_completed = true;
  change.force = true;
  EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::already_completed);
  EXPECT_EQ(caller_.vitals().forgotten, 0u);
  EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::replay);
}

TEST_P(operator_contract, a_resolution_of_a_lease_changes_no_later_lease) {
  caller_.leased(claim_of("k"));
  advance(lease_length + claim_of("k").about->run_timeout);
  resolution change;
  change.id = claim_of("k").id;
  change.token = caller_.seen(change.id).stored.token;
  EXPECT_EQ(caller_.list().records.at(0).stored.token, change.token);
  EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::done);
  const auto later = caller_.leased(claim_of("k"));
  for (const bool force : {false, true}) {
    change.force = force;
    for (const bool completed : {false, true}) {
      change.completed = completed;
      EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::changed);
    }
  }
  EXPECT_EQ(caller_.seen(change.id).state, observed_state::in_progress);
  change.token = later.token;
  EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::done);
  EXPECT_EQ(caller_.seen(change.id).state, observed_state::completed);
}

TEST_P(operator_contract, a_resolution_changes_no_lease_that_was_renewed_after_the_look) {
  const auto request = claim_of("k");
  const auto held = caller_.leased(request);
  const auto at_rest = lease_length + request.about->run_timeout;
  advance(at_rest);
  resolution change;
  change.id = request.id;
  change.token = held.token;
  change.revision = caller_.seen(request.id).revision;
  ASSERT_TRUE(change.revision);
  EXPECT_EQ(caller_.list().records.at(0).revision, change.revision);
  // The holder stood still, and works now. The outcome is unknown again, under the same token.
  ASSERT_TRUE(caller_.extend(extend_of(request, held)));
  advance(at_rest);
  for (const bool completed : {false, true}) {
    change.completed = completed;
    for (const bool force : {false, true}) {
      change.force = force;
      EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::changed);
    }
  }
  const auto now = caller_.seen(request.id);
  EXPECT_EQ(now.state, observed_state::unknown);
  EXPECT_EQ(now.stored.token, held.token);
  change.revision = now.revision;
  change.completed = change.force = false;
  EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::done);
}

TEST_P(operator_contract, a_look_at_a_lease_frees_nothing_that_was_completed_since) {
  const auto request = claim_of("k");
  const auto held = caller_.leased(request);
  advance(lease_length);
  resolution change;
  change.id = request.id;
  change.token = held.token;
  change.revision = caller_.seen(request.id).revision;
  caller_.settle(settle_of(request, held));
  EXPECT_FALSE(caller_.seen(request.id).revision);
  change.keep_completed = true;
  EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::already_completed);
  change.keep_completed = false;
  change.force = true;
  EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::already_completed);
  EXPECT_EQ(caller_.seen(request.id).state, observed_state::completed);
  change.revision.reset();  // a look at the completed record has none
  EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::done);
}

TEST_P(operator_contract, a_release_that_was_reported_stands_whatever_its_holder_does_meanwhile) {
  for (int i = 0; i < 20; ++i) {
    const auto request = claim_of("k" + std::to_string(i));
    const auto held = caller_.leased(request);
    std::atomic<int> renewals{0};
    std::jthread holder([&](const std::stop_token& over) {
      blocking_store beside(*store_);
      while (!over.stop_requested() && beside.extend(extend_of(request, held))) {
        ++renewals;
        beside.find(request.id);  // else each compare-and-set of the operator may come too late
      }
    });
    wait_until("a renewal", [&] { return renewals > 0; });
    resolution change;
    change.id = request.id;
    change.force = true;
    EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::done);
    holder.request_stop();
    holder.join();
    EXPECT_EQ(caller_.seen(request.id).state, observed_state::released) << i;
  }
}

TEST_P(operator_contract, find_shows_the_subject_and_the_remaining_durations) {
  const auto request = claim_of("k");
  caller_.leased(request);
  advance(second);
  const auto running = caller_.find(request.id);
  ASSERT_TRUE(running);
  EXPECT_EQ(running->id, request.id);
  EXPECT_EQ(running->lease_left, lease_length - second);
  EXPECT_EQ(running->retention_left, milliseconds(0));
  EXPECT_EQ(running->stored.about->key, "k");
  EXPECT_EQ(running->stored.about->path, "/v1/payments");
  EXPECT_EQ(running->stored.about->scope_kind, "header:x-tenant");
  EXPECT_FALSE(caller_.find(claim_of("nobody").id));
}

TEST_P(operator_contract, list_returns_all_records_in_the_order_of_their_first_claim) {
  std::vector<std::string> keys;
  for (int i = 0; i < 25; ++i) {
    keys.push_back("k" + std::to_string(i));
    caller_.leased(claim_of(keys.back()));
    advance(milliseconds(1));  // records on several servers can only be ordered by time
  }
  std::vector<std::string> seen;
  std::string cursor;
  do {
    const auto page = caller_.list({}, cursor, 10);
    EXPECT_LE(page.records.size(), 10u);
    for (const auto& view : page.records) seen.push_back(view.stored.about->key);
    cursor = page.cursor;
  } while (!cursor.empty());
  EXPECT_EQ(seen, keys);
}

TEST_P(operator_contract, list_filters_by_state_key_and_scope) {
  caller_.completed(claim_of("done"));
  caller_.leased(claim_of("lost"));
  advance(lease_length);
  caller_.leased(claim_of("running"));
  const auto keys = [&](const list_filter& filter) {
    std::vector<std::string> out;
    for (const auto& view : caller_.list(filter).records) out.push_back(view.stored.about->key);
    return out;
  };
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  using ::testing::UnorderedElementsAre;
  list_filter filter;
  filter.states = {observed_state::completed};
  EXPECT_THAT(keys(filter), ElementsAre("done"));
  filter.states = {observed_state::unknown};
  EXPECT_THAT(keys(filter), ElementsAre("lost"));
  filter.states = {observed_state::in_progress};
  EXPECT_THAT(keys(filter), ElementsAre("running"));
  filter.states = {observed_state::in_progress, observed_state::completed};
  EXPECT_THAT(keys(filter), UnorderedElementsAre("done", "running"));
  filter = {};
  filter.key = "lost";
  EXPECT_THAT(keys(filter), ElementsAre("lost"));
  filter.key = "los";
  EXPECT_THAT(keys(filter), IsEmpty());
  filter = {};
  filter.scope = claim_of("x").about->scope;
  EXPECT_EQ(keys(filter).size(), 3u);
  filter.scope = digest{};
  EXPECT_THAT(keys(filter), IsEmpty());
}

TEST_P(operator_contract, list_refuses_an_invalid_cursor) {
  // The second is a number that fits into none.
  for (const auto* cursor : {"not a cursor", "99999999999999999999999"}) {
    const auto page = run(store_->list({}, cursor, 10, patience));
    ASSERT_FALSE(page) << cursor;
    EXPECT_EQ(page.error().code, errc::invalid_argument) << cursor;
  }
}

TEST_P(operator_contract, count_reports_the_records_of_each_state) {
  auto request = claim_of("started");
  request.into_started = true;
  caller_.leased(request);
  caller_.completed(claim_of("completed"));
  request = claim_of("failed");
  caller_.settle(settle_of(request, caller_.leased(request), settle_kind::fail));
  request = claim_of("released");
  caller_.settle(settle_of(request, caller_.leased(request), settle_kind::release));
  request = claim_of("probing");
  caller_.settle(settle_of(request, caller_.leased(request), settle_kind::abandon));
  request = claim_of("probing");
  request.unknown = unknown_policy::probe;
  caller_.leased(request);
  request = claim_of("unknown");
  caller_.settle(settle_of(request, caller_.leased(request), settle_kind::abandon));
  caller_.leased(claim_of("in progress"));
  for (std::size_t state = 1; state <= observed_states; ++state) {
    EXPECT_EQ(caller_.counted(static_cast<observed_state>(state)), 1u) << state;
  }
}

}  // namespace
}  // namespace onceguard::testing
