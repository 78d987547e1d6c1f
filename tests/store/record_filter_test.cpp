#include "store/record_filter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace onceguard
