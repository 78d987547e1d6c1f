// JSON Pointers: what is picked from a body, and what is left out of it.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <onceguard/fingerprint.hpp>

namespace onceguard {
namespace {

std::string selected(json_selection selection, std::vector<std::string> pointers,
                     std::string_view text) {
  return canonical_json(text, {fingerprint_kind::json, selection, std::move(pointers)}).value();
}
std::string omitted(std::vector<std::string> pointers, std::string_view text) {
  return selected(json_selection::omit, std::move(pointers), text);
}
std::string picked(std::vector<std::string> pointers, std::string_view text) {
  return selected(json_selection::pick, std::move(pointers), text);
}

TEST(json_selection, omit_leaves_out_what_is_there) {
  const std::string text = R"({"a":1,"b":{"c":2,"d":[10,11,12,13]},"e/f":5,"g~h":6,"":7})";
  EXPECT_EQ(omitted({"/a"}, text), R"({"":7,"b":{"c":2,"d":[10,11,12,13]},"e/f":5,"g~h":6})");
  EXPECT_EQ(omitted({"/b", "/"}, text), R"({"a":1,"e/f":5,"g~h":6})");
  EXPECT_EQ(omitted({"/b/d", "/e~1f", "/g~0h"}, text), R"({"":7,"a":1,"b":{"c":2}})");
  EXPECT_EQ(omitted({"/b/c", "/b"}, text), omitted({"/b"}, text));
  for (const auto missing : {"/x", "/a/x", "/b/x/y", "/b/d/4", "/b/d/-", "/b/d/01", "/b/d/+1",
                             "/b/d/", "/b/d/4294967296", "/A", "a", "/~", "/~2"}) {
    EXPECT_EQ(omitted({missing}, text), selected(json_selection::all, {}, text)) << missing;
  }
}

TEST(json_selection, indices_are_those_of_the_text_however_many_are_left_out) {
  const std::string text = R"([0,1,2,[30,31],4])";
  EXPECT_EQ(omitted({"/0"}, text), "[1,2,[30,31],4]");
  EXPECT_EQ(omitted({"/0", "/1", "/4"}, text), "[2,[30,31]]");
  EXPECT_EQ(omitted({"/4", "/1", "/0"}, text), "[2,[30,31]]");
  EXPECT_EQ(omitted({"/0", "/3/0", "/0"}, text), "[1,2,[31],4]");
  EXPECT_EQ(omitted({"/0", "/1", "/2", "/3", "/4"}, text), "[]");
}

TEST(json_selection, omitting_the_whole_value_leaves_nothing) {
  EXPECT_EQ(omitted({""}, R"({"a":1})"), "");
  EXPECT_EQ(omitted({""}, "null"), "");
}

TEST(json_selection, pick_gives_the_values_under_their_pointers) {
  const std::string text = R"({"a":1,"b":{"c":[2,{"d":null}]},"e/f":"x","z":9})";
  EXPECT_EQ(picked({"/a"}, text), R"({"/a":1})");
  EXPECT_EQ(picked({"/z", "/b/c/1/d", "/e~1f"}, text), R"({"/b/c/1/d":null,"/e~1f":"x","/z":9})");
  EXPECT_EQ(picked({"/b/c"}, text), R"({"/b/c":[2,{"d":null}]})");
  EXPECT_EQ(picked({"/z", "/a", "/z"}, text), picked({"/a", "/z"}, text));
  EXPECT_EQ(picked({"", "/0"}, "[1]"), R"({"":[1],"/0":1})");
  EXPECT_EQ(picked({"/none"}, text), "{}");
  EXPECT_EQ(picked({"a", "/~"}, R"({"a":1,"~":2})"), "{}");
}

TEST(json_selection, a_missing_value_is_not_null) {
  EXPECT_NE(picked({"/a"}, R"({"a":null})"), picked({"/a"}, "{}"));
  EXPECT_NE(picked({"/a", "/b"}, R"({"a":1})"), picked({"/a", "/b"}, R"({"b":1})"));
}

TEST(json_selection, without_pointers_is_all) {
  EXPECT_EQ(picked({}, R"({"a":1})"), R"({"a":1})");
  EXPECT_EQ(omitted({}, R"({"a":1})"), R"({"a":1})");
}

TEST(json_selection, a_fault_outside_the_selection_counts) {
  const fingerprint_rule pick{fingerprint_kind::json, json_selection::pick, {"/a"}};
  const fingerprint_rule omit{fingerprint_kind::json, json_selection::omit, {"/b"}};
  for (const auto text : {R"({"a":1,"b":{"c":1,"c":2}})", R"({"a":1,"b":9007199254740993})"}) {
    EXPECT_FALSE(canonical_json(text, pick));
    EXPECT_FALSE(canonical_json(text, omit));
  }
}

TEST(json_pointer, well_formed) {
  for (const auto text : {"", "/", "/a", "/a/b", "//", "/~0", "/~1", "/a~0b~1c", "/ ", "/%"}) {
    EXPECT_TRUE(is_json_pointer(text)) << text;
  }
  for (const auto text : {"a", "#/a", " /a", "/~", "/~2", "/a~", "/a~/b", "~0"}) {
    EXPECT_FALSE(is_json_pointer(text)) << text;
  }
}

}  // namespace
}  // namespace onceguard
