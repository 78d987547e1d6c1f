#include "base/name_list.hpp"

#include <gtest/gtest.h>

namespace onceguard::base {
namespace {

constexpr name_list names{"api-key", "user", "org"};

TEST(name_list, holds_an_entry_in_any_spelling) {
  EXPECT_TRUE(names.holds("api-key"));
  EXPECT_TRUE(names.holds("API_Key"));
  EXPECT_FALSE(names.holds("api-keys"));
  EXPECT_FALSE(names.holds("api"));
  EXPECT_FALSE(names.holds("x-api-key"));
  EXPECT_FALSE(names.holds(""));
}

TEST(name_list, finds_an_entry_at_the_begin_of_a_name) {
  EXPECT_TRUE(names.begin("Api_Key-Id"));
  EXPECT_TRUE(names.begin("user"));
  EXPECT_FALSE(names.begin("use"));
  EXPECT_FALSE(names.begin("x-user"));
  EXPECT_FALSE(names.begin(""));
}

TEST(name_list, finds_an_entry_at_the_end_of_a_name) {
  EXPECT_TRUE(names.end("X-Api_Key"));
  EXPECT_TRUE(names.end("user"));
  EXPECT_TRUE(names.end("superuser"));
  EXPECT_FALSE(names.end("ser"));
  EXPECT_FALSE(names.end("user-id"));
  EXPECT_FALSE(names.end(""));
}

TEST(name_list, finds_an_entry_anywhere_in_a_name) {
  EXPECT_TRUE(names.stand_in("X-My-User"));
  EXPECT_TRUE(names.stand_in("superusers"));
  EXPECT_TRUE(names.stand_in("x_api_key"));
  EXPECT_FALSE(names.stand_in("x-use-r"));
  EXPECT_FALSE(names.stand_in(""));
}

TEST(name_list, finds_an_entry_as_a_word_of_a_name) {
  EXPECT_TRUE(names.are_word_of("X-Org-Id"));
  EXPECT_TRUE(names.are_word_of("id_ORG"));
  EXPECT_TRUE(names.are_word_of("org"));
  EXPECT_FALSE(names.are_word_of("X-Organ"));
  EXPECT_FALSE(names.are_word_of("border"));
  EXPECT_FALSE(names.are_word_of("--"));
  EXPECT_FALSE(names.are_word_of(""));
}

TEST(name_list, a_character_that_shares_the_bit_of_a_letter_is_no_letter) {
  // '5' and 'U' differ in bit 5 and 6 alone, and '!' and 'a' too.
  EXPECT_FALSE(names.holds("5ser"));
  EXPECT_FALSE(names.begin("!pi-key"));
  EXPECT_FALSE(names.stand_in("\x01pi-key"));
}

}  // namespace
}  // namespace onceguard::base
