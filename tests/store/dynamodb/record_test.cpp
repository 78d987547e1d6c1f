// The items of a table: retention, answers in pieces, lists of large tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/hex.hpp"
#include "store/dynamodb/fixture.hpp"

namespace onceguard::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class dynamodb_record_test : public dynamodb_fixture {
 protected:
  /// The items whose ids begin so, without the store's own.
  [[nodiscard]] std::vector<json> items(const std::string& begin = {}) const {
    std::vector<json> out;
    const auto all = json::parse(scan());
    for (const auto& each : all.at("Items")) {
      const auto id = each.at("id").at("S").get<std::string>();
      if (id.starts_with(begin) && id != "onceguard") out.push_back(each);
    }
    return out;
  }
  [[nodiscard]] std::vector<json> pieces() const {
    std::vector<json> out;
    for (auto& each : items()) {
      if (each.contains("piece")) out.push_back(std::move(each));
    }
    return out;
  }
  void remove(const std::string& id) const {
    server_.ask("DeleteItem", named(R"(,"Key":{"id":{"S":")" + id + R"("}})"));
  }
  /// Completes a key with an answer of more than an item can hold.
  claim complete_large(blocking_store& caller, std::size_t size = 1'000'000) {
    const auto request = claim_of("large");
    auto end = settle_of(request, caller.leased(request));
    std::string body;
    for (std::size_t i = 0; body.size() < size; ++i) body += std::to_string(i) + '\0';
    end.answer = answer_of(body);
    EXPECT_EQ(caller.settle(end).outcome, settle_outcome::done);
    large_ = end.answer;
    return request;
  }
  answer_ptr large_;
};

TEST_F(dynamodb_record_test, only_what_is_settled_expires_and_later_than_by_the_store) {
  const auto process = begin();
  const auto request = claim_of("k");
  const auto held = process->caller->leased(request);
  EXPECT_FALSE(items().at(0).contains("ttl"));
  EXPECT_TRUE(items().at(0).contains("open"));
  process->caller->settle(settle_of(request, held));
  const auto item = items().at(0);
  EXPECT_FALSE(item.contains("open"));
  const auto ttl = std::stoll(item.at("ttl").at("N").get<std::string>());
  const auto end = (beginning + day.count()) / 1'000;
  EXPECT_GE(ttl, end + 3'600);
  EXPECT_LE(ttl, end + 3'602);
}

TEST_F(dynamodb_record_test, a_clock_that_is_ahead_by_less_than_the_margin_forgets_nothing) {
  constexpr milliseconds margin{600'000};
  begin(beginning, margin)->caller->completed(claim_of("k"));
  const auto ahead = begin(beginning + day.count() + margin.count() - 1, margin);
  EXPECT_EQ(ahead->caller->claim(claim_of("k")).kind, verdict_kind::replay);
  ahead->clock.advance(milliseconds(1));
  EXPECT_EQ(ahead->caller->claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_F(dynamodb_record_test, an_answer_by_an_operator_is_kept_for_clocks_ahead_as_well) {
  constexpr milliseconds margin{600'000};
  const auto process = begin(beginning, margin);
  const auto request = claim_of("k");
  process->caller->leased(request);
  resolution complete;
  complete.id = request.id;
  complete.completed = complete.force = true;
  complete.answer = answer_of("by hand");
  complete.retention = day;
  ASSERT_EQ(process->caller->resolve(complete).outcome, resolve_outcome::done);
  const auto ahead = begin(beginning + day.count() + margin.count() - 1, margin);
  EXPECT_EQ(ahead->caller->claim(claim_of("k")).kind, verdict_kind::replay);
  ahead->clock.advance(milliseconds(1));
  EXPECT_EQ(ahead->caller->claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_F(dynamodb_record_test, a_large_answer_is_replayed_byte_for_byte) {
  const auto process = begin();
  complete_large(*process->caller);
  EXPECT_EQ(pieces().size(), 3u);
  const auto other = begin();
  const auto replay = other->caller->claim(claim_of("large"));
  ASSERT_EQ(replay.kind, verdict_kind::replay);
  EXPECT_EQ(*replay.answer, *large_);
  const auto found = other->caller->seen(claim_of("large").id);
  EXPECT_EQ(*found.stored.answer, *large_);
  EXPECT_EQ(found.body_size, large_->body.size());
  const auto listed = other->caller->list().records;
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].body_size, large_->body.size());
}

TEST_F(dynamodb_record_test, pieces_expire_with_their_record) {
  const auto process = begin();
  const auto request = complete_large(*process->caller);
  const auto id = base::to_hex(request.id);
  json ttl;
  for (const auto& each : items(id)) {
    if (!each.contains("piece")) ttl = each.at("ttl");
  }
  for (const auto& each : pieces()) EXPECT_EQ(each.at("ttl"), ttl);
}

TEST_F(dynamodb_record_test, an_answer_without_a_piece_is_damaged_and_no_answer) {
  const auto process = begin();
  const auto request = complete_large(*process->caller);
  remove(pieces().at(1).at("id").at("S").get<std::string>());
  const auto other = begin();
  const auto met = other->caller->try_claim(claim_of("large"));
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().code, errc::record_unreadable);
  EXPECT_THAT(met.error().detail, HasSubstr("a piece of its answer is missing"));
  EXPECT_EQ(other->caller->try_find(request.id).error().code, errc::record_unreadable);
  // An operator finds it, and may end it.
  list_filter filter;
  filter.needs_person = true;
  EXPECT_EQ(other->caller->list(filter).records.size(), 0u);
  resolution release;
  release.id = request.id;
  release.force = true;
  EXPECT_EQ(other->caller->resolve(release).outcome, resolve_outcome::done);
  EXPECT_EQ(other->caller->claim(claim_of("large")).kind, verdict_kind::run);
}

TEST_F(dynamodb_record_test, an_answer_with_another_ones_piece_is_damaged_and_no_answer) {
  const auto process = begin();
  complete_large(*process->caller);
  server_.damage(table_, pieces().at(0).at("id").at("S").get<std::string>(), "piece");
  const auto met = begin()->caller->try_claim(claim_of("large"));
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().code, errc::record_unreadable);
  EXPECT_THAT(met.error().detail, HasSubstr("do not belong together"));
}

TEST_F(dynamodb_record_test, a_released_record_forgets_its_pieces) {
  const auto process = begin();
  const auto request = complete_large(*process->caller);
  resolution release;
  release.id = request.id;
  EXPECT_EQ(process->caller->resolve(release).outcome, resolve_outcome::done);
  EXPECT_EQ(process->caller->claim(claim_of("large")).kind, verdict_kind::run);
}

TEST_F(dynamodb_record_test, a_lease_that_is_not_the_records_is_damage) {
  const auto process = begin();
  const auto request = claim_of("k");
  process->caller->leased(request);
  server_.ask("UpdateItem",
              named(R"(,"Key":{"id":{"S":")" + base::to_hex(request.id) +
                    R"("}},"UpdateExpression":"SET #l = :l","ExpressionAttributeNames":)"
                    R"({"#l":"lease"},"ExpressionAttributeValues":{":l":{"S":"1-00-1"}})"));
  const auto met = process->caller->try_claim(claim_of("k"));
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().code, errc::record_unreadable);
}

TEST_F(dynamodb_record_test, an_item_without_a_record_is_damage_and_ended_by_force) {
  const auto process = begin();
  const auto id = claim_of("k").id;
  server_.ask("PutItem", named(R"(,"Item":{"id":{"S":")" + base::to_hex(id) + R"("}})"));
  EXPECT_EQ(process->caller->try_claim(claim_of("k")).error().code, errc::record_unreadable);
  EXPECT_EQ(process->caller->list().unreadable.size(), 1u);
  resolution release;
  release.id = id;
  release.force = true;
  EXPECT_EQ(process->caller->resolve(release).outcome, resolve_outcome::done);
  EXPECT_EQ(process->caller->claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_F(dynamodb_record_test, what_was_unreadable_gets_a_later_token_from_a_clock_that_is_behind) {
  const auto request = claim_of("k");
  const auto held = begin(beginning + day.count())->caller->leased(request);
  server_.damage(table_, base::to_hex(request.id), "record");
  const auto behind = begin();
  resolution release;
  release.id = request.id;
  release.force = true;
  ASSERT_EQ(behind->caller->resolve(release).outcome, resolve_outcome::done);
  EXPECT_GT(behind->caller->leased(claim_of("k")).token, held.token);
}

TEST_F(dynamodb_record_test, a_large_table_is_listed_and_counted_whole) {
  auto params = params_for(url(), milliseconds(20'000));
  params.pages_in_order = 1;
  const auto tested = open_dynamodb(params);
  blocking_store caller(*tested);
  constexpr int records = 40;  // of 100 kB: four pages of a scan
  for (int i = 0; i < records; ++i) {
    const auto request = claim_of("k" + std::to_string(i));
    auto end = settle_of(request, caller.leased(request));
    end.answer = answer_of(std::string(100'000, 'x'));
    caller.settle(end);
  }
  std::vector<std::string> keys;
  std::string cursor;
  int pages = 0;
  do {
    const auto page = caller.list({}, cursor, 3);
    EXPECT_LE(page.records.size(), 3u);
    for (const auto& each : page.records) keys.push_back(each.stored.about->key);
    cursor = page.cursor;
    ++pages;
  } while (!cursor.empty());
  EXPECT_EQ(keys.size(), std::size_t{records});
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()), keys.end());
  EXPECT_GT(pages, records / 3);
  EXPECT_EQ(caller.counted(observed_state::completed), std::uint64_t{records});
}

TEST_F(dynamodb_record_test, a_cursor_of_another_store_is_refused) {
  const auto process = begin();
  for (const bool person : {true, false}) {
    list_filter filter;
    filter.needs_person = person;
    for (const auto* const wrong : {"17", "x,y", ",", "a,b,c,d"}) {
      const auto page = run(process->records->list(filter, wrong, 10, patience));
      ASSERT_FALSE(page) << wrong;
      EXPECT_EQ(page.error().code, errc::invalid_argument) << wrong;
    }
  }
}

}  // namespace
}  // namespace onceguard::testing
