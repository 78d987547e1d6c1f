// Places in JSON texts, and changes of one value that leave all other bytes as they are.
#include "mcp/raw_json.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace onceguard::mcp {
namespace {

TEST(mcp_raw_json, members_are_found_with_their_bytes) {
  const std::string text = R"( { "a" : [1, {"b": "}"}] ,"c\u0064":"x\"y", "e":1e3 } )";
  const auto members = members_of(text).value();
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(find(members, "a")->text, R"([1, {"b": "}"}])");
  EXPECT_EQ(find(members, "cd")->text, R"("x\"y")");
  EXPECT_EQ(find(members, "e")->text, "1e3");
  EXPECT_EQ(find(members, "b"), nullptr);
  EXPECT_EQ(text.substr(members[2].begin, members[2].end - members[2].begin), "\"e\":1e3");
}

TEST(mcp_raw_json, other_values_have_no_members) {
  for (const char* text : {"[]", "\"{}\"", "1", "null", ""}) EXPECT_FALSE(members_of(text)) << text;
  EXPECT_TRUE(members_of("{}")->empty());
  EXPECT_EQ(elements_of("[1,[2,3],{}]")->size(), 3u);
  EXPECT_FALSE(elements_of("{}"));
}

TEST(mcp_raw_json, a_repeated_name_is_noticed_however_it_is_written) {
  EXPECT_TRUE(has_repeats(members_of(R"({"a":1,"\u0061":2})").value()));
  EXPECT_FALSE(has_repeats(members_of(R"({"a":1,"A":2})").value()));
}

TEST(mcp_raw_json, a_member_is_taken_out_with_one_comma) {
  const auto removed = [](const std::string& text) {
    return without(text, *find(members_of(text).value(), "x"));
  };
  EXPECT_EQ(removed(R"({"x":1})"), "{}");
  EXPECT_EQ(removed(R"({"x":1,"a":2})"), R"({"a":2})");
  EXPECT_EQ(removed(R"({"a":2,"x":1})"), R"({"a":2})");
  EXPECT_EQ(removed(R"({"a": 2 , "x": [1,2] , "b": 3})"), R"({"a": 2 , "b": 3})");
  EXPECT_EQ(removed(R"({ "a":2 , "x":1 })"), R"({ "a":2  })");
}

TEST(mcp_raw_json, values_are_replaced_and_put_in_front) {
  const std::string text = R"({"a": [ 1 ] ,"b":2})";
  const auto members = members_of(text).value();
  EXPECT_EQ(with_value(text, members[0], "3"), R"({"a": 3 ,"b":2})");
  EXPECT_EQ(with_first("{}", "\"c\":1"), R"({"c":1})");
  EXPECT_EQ(with_first("[ ]", "1"), "[1 ]");
  EXPECT_EQ(with_first("[2]", "1"), "[1,2]");
}

TEST(mcp_raw_json, texts_are_escaped) {
  EXPECT_EQ(json_string("a\"\n\xff"), "\"a\\\"\\n\xEF\xBF\xBD\"");
  EXPECT_EQ(string_of(R"("a\u00e9")"), "a\xC3\xA9");
  EXPECT_FALSE(string_of("1"));
  EXPECT_EQ(string_of(R"("\ud83d\ude00 \\ \/ \n \"")"), "\xF0\x9F\x98\x80 \\ / \n \"");
  EXPECT_EQ(string_of(R"("\ud83d.")"), "\xED\xA0\xBD.");
  for (const char* none : {"\"", R"("a\")", R"("\u12")", R"("a"b")"})
    EXPECT_FALSE(string_of(none)) << none;
}

}  // namespace
}  // namespace onceguard::mcp
