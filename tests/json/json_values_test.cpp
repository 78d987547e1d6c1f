#include "json/json_values.hpp"

#include <string>

#include <gtest/gtest.h>

namespace onceguard {
namespace {

using kind = json_value::kind;

std::string text_at(std::string_view text, std::string_view pointer) {
  const auto found = json_values(text).at(pointer);
  EXPECT_EQ(found.type, kind::text) << text;
  return found.text;
}

kind kind_at(std::string_view text, std::string_view pointer) {
  return json_values(text).at(pointer).type;
}

TEST(json_values, are_strings_and_integers_of_64_bits) {
  EXPECT_EQ(text_at(R"({"a":{"b/~c":["x","\u00e9"]}})", "/a/b~1~0c/1"), "\u00e9");
  EXPECT_EQ(text_at(R"({"id":17})", "/id"), "17");
  EXPECT_EQ(text_at(R"({"id":9007199254740993})", "/id"), "9007199254740993");
  EXPECT_EQ(text_at(R"({"id":18446744073709551615})", "/id"), "18446744073709551615");
  EXPECT_EQ(text_at(R"({"id":-9223372036854775808})", "/id"), "-9223372036854775808");
  EXPECT_EQ(text_at(R"("all")", ""), "all");
}

TEST(json_values, are_absent_or_of_another_kind) {
  for (const auto* pointer : {"/b", "/a/2", "/a/-", "/a/x", "/a/01", "/a/0/b", "/null"}) {
    EXPECT_EQ(kind_at(R"({"a":[1,2],"null":null})", pointer), kind::absent) << pointer;
  }
  for (const auto* text : {R"({"a":true})", R"({"a":1.5})", R"({"a":1e3})",
                           R"({"a":18446744073709551616})", R"({"a":{}})", R"({"a":[]})"}) {
    EXPECT_EQ(kind_at(text, "/a"), kind::other) << text;
  }
}

TEST(json_values, are_refused_if_two_readers_could_differ) {
  EXPECT_TRUE(json_values(R"([{"a":1},{"a":2,"b":{"a":3}}])").is_valid());
  for (const auto* text :
       {R"({"a":1,"a":1})", R"({"x":{"a":1,"b":2,"a":3}})", R"({"a":1,"\u0061":2})", "", "{",
        "[1,]", "{\"a\":1} x", "\"\xff\"", "nul"}) {
    EXPECT_FALSE(json_values(text).is_valid()) << text;
    EXPECT_EQ(kind_at(text, "/a"), kind::absent) << text;
  }
  const auto nested = [](std::size_t depth) {
    return json_values(std::string(depth, '[') + std::string(depth, ']')).is_valid();
  };
  EXPECT_TRUE(nested(512));
  EXPECT_FALSE(nested(513));
  EXPECT_FALSE(nested(1'000'000));
}

TEST(json_values, lack_an_index_in_an_array_only) {
  EXPECT_TRUE(json_values(R"({"a":["x"]})").lacks("/a/1"));
  EXPECT_FALSE(json_values(R"({"a":["x","y"]})").lacks("/a/1"));
  EXPECT_FALSE(json_values(R"({"a":["x",[]]})").lacks("/a/1"));
  EXPECT_TRUE(json_values(R"({})").lacks("/a/1"));
  EXPECT_TRUE(json_values(R"({"a":{"0":"x"}})").lacks("/a/b"));
  EXPECT_FALSE(json_values(R"({"a":{"0":"x","y":"z"}})").lacks("/a/1"));
  EXPECT_FALSE(json_values("{").lacks("/a/1"));
}

TEST(json_values, are_refused_if_there_are_more_than_the_caller_allows) {
  EXPECT_TRUE(json_values(R"({"a":[1,2,3]})", 5).is_valid());
  EXPECT_FALSE(json_values(R"({"a":[1,2,3]})", 4).is_valid());
}

TEST(json_values, of_a_text_with_a_byte_order_mark) {
  EXPECT_EQ(text_at("\xef\xbb\xbf{\"a\":1}", "/a"), "1");
}

// In a reader that walks back at the end of each value, these take hours.
TEST(json_values, of_a_long_text_take_time_in_proportion) {
  const auto repeated = [](std::string_view one) {
    std::string out = "[";
    while (out.size() < 8u << 20) out += one;
    out.back() = ']';
    return out;
  };
  for (const auto* one : {"{},", "[],", "{\"a\":{}},", "[[]],", "1,", "\"\","}) {
    EXPECT_TRUE(json_values(repeated(one)).is_valid()) << one;
  }
}

}  // namespace
}  // namespace onceguard
