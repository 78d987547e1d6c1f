// Unreadable records, on every store in which a test can damage a record: an unreadable record is
// never reported as absent, is visible to operators, and is ended only by force.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/store_fixture.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

class unreadable_contract : public store_fixture {
 protected:
  /// A damaged record of `key`: completed before the damage, or still leased.
  record_id damaged(const std::string& key, bool completed = true) {
    const auto request = claim_of(key);
    if (completed) {
      held_ = caller_.completed(request);
    } else {
      held_ = caller_.leased(request);
    }
    delegate_->damage(request.id);
    return request.id;
  }
  static resolution forced(const record_id& id, bool completed) {
    resolution request;
    request.id = id;
    request.completed = completed;
    request.force = true;
    if (completed) request.answer = answer_of("by hand");
    return request;
  }
  void expect_unreadable(const std::string& key) {
    const auto verdict = caller_.try_claim(claim_of(key));
    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.error().code, errc::record_unreadable);
  }

  lease held_;
};
INSTANTIATE_TEST_SUITE_P(stores, unreadable_contract,
                         ::testing::ValuesIn(engines_that(&engine_under_test::damaged)),
                         engine_name);

TEST_P(unreadable_contract, an_unreadable_record_is_listed_by_its_id_under_every_filter) {
  const auto id = damaged("bad");
  caller_.completed(claim_of("good"));
  list_filter of_state;
  of_state.states = {observed_state::completed};
  list_filter of_key;
  of_key.key = "good";
  list_filter of_scope;
  of_scope.scope = claim_of("good").about->scope;
  for (const auto& filter : {list_filter(), of_state, of_key, of_scope}) {
    const auto page = caller_.list(filter);
    ASSERT_EQ(page.unreadable.size(), 1u);
    EXPECT_EQ(page.unreadable[0].id, id);
    EXPECT_FALSE(page.unreadable[0].why.empty());
    ASSERT_EQ(page.records.size(), 1u);
    EXPECT_EQ(page.records[0].stored.about->key, "good");
  }
}

TEST_P(unreadable_contract, a_request_that_meets_an_unreadable_record_makes_it_known) {
  const auto id = damaged("bad");
  damaged("bad and running", false);
  caller_.completed(claim_of("good"));
  expect_unreadable("bad");
  expect_unreadable("bad and running");
  list_filter filter;
  filter.needs_person = true;
  wait_until("both records", [&] { return caller_.list(filter).unreadable.size() == 2; });
  EXPECT_TRUE(caller_.list(filter).records.empty());
  caller_.resolve(forced(id, false));
  const auto page = caller_.list(filter);
  ASSERT_EQ(page.unreadable.size(), 1u);
  EXPECT_NE(page.unreadable[0].id, id);
}

TEST_P(unreadable_contract, an_unreadable_record_is_listed_once_over_many_pages) {
  const auto id = damaged("0");
  for (int i = 1; i < 10; ++i) caller_.completed(claim_of(std::to_string(i)));
  std::vector<record_id> unreadable;
  std::size_t readable = 0;
  std::string cursor;
  do {
    const auto page = caller_.list({}, cursor, 3);
    readable += page.records.size();
    for (const auto& each : page.unreadable) unreadable.push_back(each.id);
    cursor = page.cursor;
  } while (!cursor.empty());
  EXPECT_EQ(readable, 9u);
  EXPECT_THAT(unreadable, ::testing::ElementsAre(id));
}

TEST_P(unreadable_contract, an_unreadable_record_is_counted_as_unreadable_and_in_no_state) {
  damaged("completed");
  damaged("running", false);
  caller_.completed(claim_of("good"));
  const auto counted = caller_.counts_of_all();
  EXPECT_EQ(counted.unreadable, 2u);
  EXPECT_EQ(counted.by_state[static_cast<std::size_t>(observed_state::completed)], 1u);
  EXPECT_EQ(counted.by_state[static_cast<std::size_t>(observed_state::in_progress)], 0u);
  EXPECT_EQ(counted.by_state[static_cast<std::size_t>(observed_state::unknown)], 0u);
}

TEST_P(unreadable_contract, an_unreadable_record_is_not_resolved_without_force) {
  const auto id = damaged("bad");
  for (const bool completed : {true, false}) {
    auto request = forced(id, completed);
    request.force = false;
    const auto reply = caller_.try_resolve(request);
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, errc::record_unreadable);
  }
  expect_unreadable("bad");
}

TEST_P(unreadable_contract, a_record_that_was_seen_before_its_damage_is_not_replaced) {
  const auto id = damaged("bad");
  for (const bool completed : {true, false}) {
    auto request = forced(id, completed);
    request.token = held_.token;
    EXPECT_EQ(caller_.resolve(request).outcome, resolve_outcome::changed);
  }
  expect_unreadable("bad");
}

TEST_P(unreadable_contract, an_unreadable_record_released_by_force_runs_again_with_a_later_token) {
  const auto id = damaged("bad");
  const auto before = held_;
  const auto forgotten = caller_.vitals().forgotten;
  const auto reply = caller_.resolve(forced(id, false));
  EXPECT_EQ(reply.outcome, resolve_outcome::done);
  EXPECT_TRUE(reply.forgets_answer);  // caches may hold the answer
  EXPECT_EQ(caller_.vitals().forgotten, forgotten + 1);
  EXPECT_EQ(caller_.counts_of_all().unreadable, 0u);
  EXPECT_TRUE(caller_.list().unreadable.empty());
  const auto put = caller_.find(id);
  ASSERT_TRUE(put);
  EXPECT_EQ(put->state, observed_state::released);
  EXPECT_GT(put->stored.token, before.token);
  EXPECT_GT(caller_.leased(claim_of("bad", "another request")).token, put->stored.token);
}

TEST_P(unreadable_contract, an_unreadable_record_completed_by_force_is_replayed) {
  auto request = forced(damaged("bad"), true);
  request.about = subject_of("bad");
  EXPECT_EQ(caller_.resolve(request).outcome, resolve_outcome::done);
  const auto found = caller_.find(request.id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, observed_state::completed);
  EXPECT_TRUE(found->stored.by_operator);
  EXPECT_GT(found->stored.token, held_.token);
  EXPECT_EQ(found->stored.about->key, "bad");
  const auto verdict = caller_.claim(claim_of("bad"));
  EXPECT_EQ(verdict.kind, verdict_kind::replay);
  ASSERT_TRUE(verdict.answer);
  EXPECT_EQ(verdict.answer->body, "by hand");
  advance(day);
  EXPECT_EQ(caller_.claim(claim_of("bad")).kind, verdict_kind::run);
}

TEST_P(unreadable_contract, an_unreadable_record_can_be_resolved_by_its_id_alone) {
  for (const bool completed : {true, false}) {
    const std::string key = completed ? "did" : "did not";
    EXPECT_EQ(caller_.resolve(forced(damaged(key), completed)).outcome, resolve_outcome::done);
    EXPECT_EQ(caller_.claim(claim_of(key)).kind,
              completed ? verdict_kind::replay : verdict_kind::run);
  }
}

TEST_P(unreadable_contract,
       the_holder_of_an_unreadable_record_fails_and_is_stale_after_a_resolution) {
  const auto request = claim_of("bad");
  const auto held = caller_.leased(request);
  delegate_->damage(request.id);
  const auto settled = caller_.settles({settle_of(request, held)});
  ASSERT_FALSE(settled[0]);
  EXPECT_EQ(settled[0].error().code, errc::record_unreadable);
  const auto extended = caller_.extends({extend_of(request, held)});
  ASSERT_FALSE(extended[0]);
  EXPECT_EQ(extended[0].error().code, errc::record_unreadable);
  expect_unreadable("bad");
  caller_.resolve(forced(request.id, true));
  EXPECT_FALSE(caller_.extend(extend_of(request, held)));
  const auto late = caller_.settle(settle_of(request, held));
  EXPECT_EQ(late.outcome, settle_outcome::stale);
  ASSERT_TRUE(late.answer);
  EXPECT_EQ(late.answer->body, "by hand");
}

TEST_P(unreadable_contract, an_unreadable_unsettled_record_survives_every_sweep) {
  auto request = claim_of("bad");
  request.unknown_retention = day;  // a readable record would expire after a day
  caller_.leased(request);
  delegate_->damage(request.id);
  auto good = claim_of("good");
  good.unknown_retention = day;
  caller_.leased(good);
  advance(lease_length + day - second);
  expect_unreadable("bad");
  expect_swept(0);
  if (!GetParam().sweeps) return;  // the server itself removes the record
  advance(second);
  EXPECT_EQ(caller_.sweep(), 1u);
  expect_unreadable("bad");
  EXPECT_EQ(caller_.counts_of_all().unreadable, 1u);
  EXPECT_EQ(caller_.list().unreadable.size(), 1u);
}

}  // namespace
}  // namespace onceguard::testing
