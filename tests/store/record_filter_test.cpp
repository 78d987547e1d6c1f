#include "store/record_filter.hpp"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <onceguard/fingerprint.hpp>

#include "support/run.hpp"

namespace onceguard {
namespace {

using ::testing::HasSubstr;

const std::string whole_scope(64, 'a');

record_filter filter_of(const std::vector<std::pair<std::string_view, std::string>>& words) {
  record_filter out;
  for (const auto& [name, value] : words) EXPECT_TRUE(out.add(name, value)) << name;
  return out;
}

record_view record_in_scope(unsigned char byte) {
  auto about = std::make_shared<subject>();
  about->scope.fill(byte);
  record_view out;
  out.stored.about = std::move(about);
  return out;
}

TEST(record_filter, makes_the_same_filter_of_the_words_of_a_filter) {
  const std::vector<std::pair<std::string_view, std::string>> words{
      {"state", "unknown"},   {"state", "failed"}, {"key", "order-1"},   {"text", "order"},
      {"scope", whole_scope}, {"route", "/pay"},   {"method", "POST"},   {"reason", "upgraded"},
      {"older", "1000ms"},    {"younger", "60ms"}, {"attention", "true"}};
  EXPECT_EQ(words_of(filter_of(words).of_store()), words);
  EXPECT_TRUE(words_of(record_filter().of_store()).empty());
}

TEST(record_filter, takes_every_state_and_reason_by_its_name) {
  for (const auto& name : record_filter::states()) EXPECT_TRUE(record_filter().add("state", name));
  for (const auto& name : record_filter::reasons()) {
    EXPECT_TRUE(record_filter().add("reason", name));
  }
}

TEST(record_filter, says_which_value_is_wrong) {
  for (const auto& [name, value] : {std::pair<std::string_view, std::string>{"state", "lost"},
                                    {"reason", "none"},
                                    {"older", "soon"},
                                    {"younger", ""},
                                    {"scope", "XY"},
                                    {"attention", "yes"}}) {
    const auto added = record_filter().add(name, value);
    ASSERT_FALSE(added) << name;
    EXPECT_THAT(added.error().detail, HasSubstr(std::string(name)));
  }
  EXPECT_THAT(record_filter().add("colour", "red").error().detail, HasSubstr("colour"));
}

TEST(record_filter, refuses_an_empty_value_which_would_choose_everything) {
  for (const auto* name : {"key", "scope", "state", "route", "method", "reason", "text", "older",
                           "younger", "attention"}) {
    const auto added = record_filter().add(name, "");
    ASSERT_FALSE(added) << name;
    EXPECT_THAT(added.error().detail, HasSubstr(name));
  }
}

TEST(record_filter, has_no_condition_by_attention_that_is_false) {
  EXPECT_FALSE(record_filter().any());
  EXPECT_FALSE(filter_of({{"attention", "false"}}).any());
  EXPECT_TRUE(filter_of({{"attention", "true"}}).any());
  EXPECT_TRUE(filter_of({{"older", "1h"}, {"attention", "false"}}).any());
  EXPECT_TRUE(filter_of({{"state", "unreadable"}}).any());
}

TEST(record_filter, compares_the_beginning_of_a_scope) {
  EXPECT_TRUE(filter_of({{"scope", "aaa"}}).fits(record_in_scope(0xaa)));
  EXPECT_FALSE(filter_of({{"scope", "aab"}}).fits(record_in_scope(0xaa)));
  EXPECT_FALSE(filter_of({{"scope", "aaa"}}).of_store().scope);
}

TEST(record_filter, chooses_no_readable_record_for_unreadable_alone) {
  EXPECT_FALSE(filter_of({{"state", "unreadable"}}).fits(record_in_scope(1)));
  EXPECT_TRUE(filter_of({{"state", "unreadable"}, {"state", "failed"}}).fits(record_in_scope(1)));
}

TEST(record_filter, changes_only_what_is_unknown_unless_it_names_states) {
  auto bare = filter_of({{"route", "/pay"}});
  bare.limit_to_unknown();
  EXPECT_EQ(bare.of_store().states, std::vector{observed_state::unknown});
  for (const auto& words : {std::pair<std::string_view, std::string>{"state", "failed"},
                            {"attention", "true"},
                            {"state", "unreadable"}}) {
    auto named = filter_of({words});
    const auto before = named.of_store().states;
    named.limit_to_unknown();
    EXPECT_EQ(named.of_store().states, before);
  }
}

/// Has one record of each of two scopes, both with the key "k", and says what it was asked.
class asked_records : public record_access {
 public:
  boost::asio::awaitable<result<resolve_decision>> resolve(resolution, milliseconds) override {
    co_return error(errc::conflict, "not asked for");
  }
  boost::asio::awaitable<result<std::optional<record_view>>> find(record_id id,
                                                                  milliseconds) override {
    ++finds;
    if (damaged) co_return error(errc::record_unreadable, "torn");
    for (auto& one : all()) {
      if (one.id == id) co_return std::optional<record_view>(std::move(one));
    }
    co_return std::nullopt;
  }
  boost::asio::awaitable<result<list_page>> list(list_filter, std::string, std::size_t,
                                                 milliseconds) override {
    ++lists;
    list_page out;
    out.records = all();
    co_return out;
  }
  boost::asio::awaitable<result<counts>> count(std::string, milliseconds) override {
    co_return counts();
  }
  static std::vector<record_view> all() {
    std::vector<record_view> out;
    for (const auto scope : std::array<unsigned char, 2>{0xaa, 0xbb}) {
      auto seen = record_in_scope(scope);
      auto about = std::make_shared<subject>(*seen.stored.about);
      about->key = "k";
      seen.id = make_record_id(about->scope, about->key);
      seen.state = observed_state::completed;
      seen.stored.about = std::move(about);
      out.push_back(std::move(seen));
    }
    return out;
  }
  int finds = 0;
  int lists = 0;
  bool damaged = false;
};

list_page listed(asked_records& records,
                 const std::vector<std::pair<std::string_view, std::string>>& words,
                 const std::string& cursor = {}) {
  boost::asio::io_context context;
  return testing::run(context,
                      list_filtered(records, filter_of(words), cursor, 10, milliseconds(1'000)))
      .value();
}

TEST(record_filter, finds_the_record_of_a_key_in_a_whole_scope_by_its_id) {
  asked_records records;
  EXPECT_EQ(listed(records, {{"key", "k"}, {"scope", whole_scope}}).records.size(), 1u);
  EXPECT_TRUE(listed(records, {{"key", "other"}, {"scope", whole_scope}}).records.empty());
  EXPECT_TRUE(
      listed(records, {{"key", "k"}, {"scope", whole_scope}, {"state", "failed"}}).records.empty());
  EXPECT_TRUE(listed(records, {{"key", "k"}, {"scope", whole_scope}, {"state", "unreadable"}})
                  .records.empty());
  EXPECT_EQ(records.lists, 0);
  EXPECT_EQ(records.finds, 4);
  EXPECT_EQ(listed(records, {{"key", "k"}, {"scope", "aa"}}).records.size(), 1u);
  EXPECT_EQ(listed(records, {{"key", "k"}, {"scope", whole_scope}}, "12").records.size(), 1u);
  EXPECT_EQ(records.lists, 2);
}

TEST(record_filter, lists_that_record_where_it_can_not_be_read) {
  asked_records records;
  records.damaged = true;
  const auto page = listed(records, {{"key", "k"}, {"scope", whole_scope}});
  ASSERT_EQ(page.unreadable.size(), 1u);
  EXPECT_EQ(page.unreadable.front().why, "torn");
}

}  // namespace
}  // namespace onceguard
