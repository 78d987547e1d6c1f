// The filters of a list, on every store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/store_fixture.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class list_contract : public store_fixture {
 protected:
  /// A claim of another route or method than claim_of makes.
  static claim claim_for(const std::string& key, const std::string& route,
                         const std::string& method = "POST") {
    auto out = claim_of(key);
    auto about = std::make_shared<subject>(*out.about);
    about->route = route;
    about->method = method;
    out.about = std::move(about);
    return out;
  }
  void abandon(const claim& request, unknown_reason why) {
    auto end = settle_of(request, caller_.leased(request), settle_kind::abandon);
    end.why = why;
    ASSERT_EQ(caller_.settle(end).outcome, settle_outcome::done);
  }
  /// The keys of all pages.
  std::vector<std::string> keys(const list_filter& filter, std::size_t limit = 100) {
    std::vector<std::string> out;
    std::string cursor;
    do {
      const auto page = caller_.list(filter, cursor, limit);
      EXPECT_LE(page.records.size(), limit);
      for (const auto& view : page.records) out.push_back(view.stored.about->key);
      cursor = page.cursor;
    } while (!cursor.empty());
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(stores, list_contract, ::testing::ValuesIn(engines), engine_name);

TEST_P(list_contract, a_list_by_route_and_method_has_exactly_their_records) {
  caller_.completed(claim_for("a", "/charges"));
  caller_.completed(claim_for("b", "/charges", "PATCH"));
  caller_.completed(claim_for("c", "/charges/refunds"));
  caller_.completed(claim_for("/charges", "/orders"));  // the route's text is in the key
  list_filter filter;
  filter.route = "/charges";
  EXPECT_THAT(keys(filter), UnorderedElementsAre("a", "b"));
  filter.method = "PATCH";
  EXPECT_THAT(keys(filter), ElementsAre("b"));
  filter.route = "";
  EXPECT_THAT(keys(filter), IsEmpty());
}

TEST_P(list_contract, a_list_by_text_has_the_keys_with_that_part) {
  caller_.completed(claim_of("order-4711"));
  caller_.completed(claim_of("order-4712"));
  caller_.completed(claim_for("other", "/order-4711"));
  list_filter filter;
  filter.text = "4711";
  EXPECT_THAT(keys(filter), ElementsAre("order-4711"));
  filter.text = "order-";
  EXPECT_THAT(keys(filter), UnorderedElementsAre("order-4711", "order-4712"));
  filter.text = "ORDER";
  EXPECT_THAT(keys(filter), IsEmpty());
}

TEST_P(list_contract, a_list_by_age_counts_from_the_claim) {
  caller_.completed(claim_of("old"));
  advance(10 * second);
  caller_.completed(claim_of("young"));
  list_filter filter;
  filter.older = 10 * second;
  EXPECT_THAT(keys(filter), ElementsAre("old"));
  filter = {};
  filter.younger = 10 * second;
  EXPECT_THAT(keys(filter), ElementsAre("young"));
  filter.older = 1 * second;
  EXPECT_THAT(keys(filter), IsEmpty());
  advance(5 * second);
  EXPECT_THAT(keys(filter), ElementsAre("young"));
  EXPECT_EQ(caller_.seen(claim_of("old").id).age, 15 * second);
}

TEST_P(list_contract, a_list_by_reason_knows_a_holder_that_is_gone) {
  abandon(claim_of("timeout"), unknown_reason::upstream_timeout);
  abandon(claim_of("broken"), unknown_reason::upstream_broken);
  caller_.leased(claim_of("gone"));
  advance(lease_length);
  caller_.completed(claim_of("done"));
  list_filter filter;
  filter.reason = unknown_reason::upstream_timeout;
  EXPECT_THAT(keys(filter), ElementsAre("timeout"));
  filter.reason = unknown_reason::holder_gone;
  EXPECT_THAT(keys(filter), ElementsAre("gone"));
  filter.states = {observed_state::completed};
  EXPECT_THAT(keys(filter), IsEmpty());
}

TEST_P(list_contract, what_needs_a_person_is_unknown_or_was_never_settled) {
  auto request = claim_of("stuck");
  request.into_started = true;
  caller_.leased(request);
  abandon(claim_of("unknown"), unknown_reason::upstream_status);
  auto forgotten_one_day = claim_of("gone");
  forgotten_one_day.unknown_retention = day;
  caller_.leased(forgotten_one_day);
  caller_.completed(claim_of("done"));
  caller_.settle(
      settle_of(claim_of("failed"), caller_.leased(claim_of("failed")), settle_kind::fail));
  list_filter filter;
  filter.needs_person = true;
  caller_.sweep_whole();
  EXPECT_THAT(keys(filter), ElementsAre("unknown"));
  advance(lease_length);
  caller_.sweep_whole();
  EXPECT_THAT(keys(filter), UnorderedElementsAre("unknown", "gone"));
  advance(request.about->run_timeout + milliseconds(1));
  caller_.leased(claim_of("running"));
  caller_.sweep_whole();
  EXPECT_THAT(keys(filter), UnorderedElementsAre("stuck", "unknown", "gone"));
  EXPECT_THAT(keys(filter, 1), UnorderedElementsAre("stuck", "unknown", "gone"));
  filter.text = "on";
  EXPECT_THAT(keys(filter), ElementsAre("gone"));
}

TEST_P(list_contract, what_a_person_has_ended_needs_nobody_any_more) {
  abandon(claim_of("did"), unknown_reason::upstream_status);
  abandon(claim_of("did not"), unknown_reason::upstream_status);
  advance(lease_length + claim_of("did").about->run_timeout);
  caller_.sweep_whole();
  list_filter filter;
  filter.needs_person = true;
  EXPECT_EQ(keys(filter).size(), 2u);
  for (const bool completed : {true, false}) {
    resolution change;
    change.id = claim_of(completed ? "did" : "did not").id;
    change.completed = completed;
    EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::done);
  }
  EXPECT_THAT(keys(filter), IsEmpty());
  abandon(claim_of("did not"), unknown_reason::upstream_status);
  EXPECT_THAT(keys(filter), ElementsAre("did not"));
}

TEST_P(list_contract, a_repeat_that_meets_an_unknown_outcome_makes_it_known_to_operators) {
  caller_.leased(claim_of("gone"));
  advance(lease_length);
  EXPECT_EQ(caller_.claim(claim_of("gone")).kind, verdict_kind::unknown);
  list_filter filter;
  filter.needs_person = true;
  wait_until("the record", [&] { return keys(filter) == std::vector<std::string>{"gone"}; });
}

}  // namespace
}  // namespace onceguard::testing
