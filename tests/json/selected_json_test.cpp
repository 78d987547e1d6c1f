// What is left of a JSON text when values are picked and redacted.
#include "json/selected_json.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace onceguard {
namespace {

using pointers = std::vector<std::string>;

std::string selected(std::string_view text, const pointers& picked, const pointers& redacted,
                     std::size_t longest = 10'000) {
  const auto made = select_json(text, {picked, redacted}, longest);
  if (!made) return "refused";
  return made->changed ? made->text : "as it was";
}
std::string redacted(std::string_view text, const pointers& named) {
  return selected(text, {}, named);
}
std::string picked(std::string_view text, const pointers& named) {
  return selected(text, named, {});
}

TEST(selected_json, redacts_by_kind_and_leaves_the_rest_in_its_order) {
  EXPECT_EQ(redacted(R"({ "z": 1, "card": {"number": "4111", "cvv": 737}, "a": [ 1, "x" ] })",
                     {"/card/number", "/card/cvv"}),
            R"({"z":1,"card":{"number":"[redacted]","cvv":null},"a":[1,"x"]})");
  EXPECT_EQ(redacted(R"({"a":{"b":1},"c":[1],"d":true,"e":""})", {"/a", "/c", "/d", "/e"}),
            R"({"a":null,"c":null,"d":null,"e":"[redacted]"})");
}

TEST(selected_json, changes_nothing_where_there_is_nothing_to_redact) {
  EXPECT_EQ(redacted(R"({"a": 1})", {"/b"}), "as it was");
  EXPECT_EQ(redacted(R"({"a": null})", {"/a"}), "as it was");
  EXPECT_EQ(redacted("[]", {"/*"}), "as it was");
}

TEST(selected_json, redacts_what_stands_where_the_pointer_goes_on) {
  EXPECT_EQ(redacted(R"({"card":"4111"})", {"/card/number"}), R"({"card":"[redacted]"})");
  EXPECT_EQ(redacted(R"({"card":4111})", {"/card/*"}), R"({"card":null})");
  EXPECT_EQ(redacted(R"({"card":[{"number":"4111"}]})", {"/card/number"}), R"({"card":null})");
  EXPECT_EQ(redacted("17", {"/a"}), "null");
}

TEST(selected_json, a_star_is_every_element_and_every_member) {
  EXPECT_EQ(redacted(R"({"cards":[{"cvv":"1","n":1},{"cvv":"2"},7]})", {"/cards/*/cvv"}),
            R"({"cards":[{"cvv":"[redacted]","n":1},{"cvv":"[redacted]"},null]})");
  EXPECT_EQ(redacted(R"({"a":{"x":{"s":1}},"b":[{"s":"t"}]})", {"/*/*/s"}),
            R"({"a":{"x":{"s":null}},"b":[{"s":"[redacted]"}]})");
  EXPECT_EQ(redacted(R"({"*":"own","b":"c"})", {"/*"}), R"({"*":"[redacted]","b":"[redacted]"})");
}

TEST(selected_json, knows_the_escapes_of_pointers_and_of_text) {
  EXPECT_EQ(redacted(R"({"a/b":"1","m~n":"2","c":"ü\n\u20ac\""})", {"/a~1b", "/m~0n"}),
            "{\"a/b\":\"[redacted]\",\"m~n\":\"[redacted]\",\"c\":\"ü\\n€\\\"\"}");
  EXPECT_EQ(redacted(R"({"c\u0061rd":"1"})", {"/card"}), R"({"card":"[redacted]"})");
}

TEST(selected_json, leaves_numbers_as_they_are_written) {
  EXPECT_EQ(redacted(R"({"id":12345678901234567890,"sum":1.0,"e":1E+2,"s":"x"})", {"/s"}),
            R"({"id":12345678901234567890,"sum":1.0,"e":1E+2,"s":"[redacted]"})");
}

TEST(selected_json, picks_and_drops_the_rest) {
  const std::string_view text =
      R"({"id":"p1","card":{"number":"4111","brand":"visa"},"status":"paid","list":[1,{"a":2}]})";
  EXPECT_EQ(picked(text, {"/id", "/status"}), R"({"id":"p1","status":"paid"})");
  EXPECT_EQ(picked(text, {"/card/brand"}), R"({"card":{"brand":"visa"}})");
  EXPECT_EQ(picked(text, {"/card"}), R"({"card":{"number":"4111","brand":"visa"}})");
  EXPECT_EQ(picked(text, {"/nothing"}), "{}");
  EXPECT_EQ(picked(text, {"/list/1/a", "/id"}), R"({"id":"p1","list":[null,{"a":2}]})");
  EXPECT_EQ(picked(text, {"/*"}), "as it was");
  EXPECT_EQ(picked("17", {"/a"}), "null");
}

TEST(selected_json, redacts_what_was_picked) {
  EXPECT_EQ(
      selected(R"({"card":{"number":"4111","brand":"visa"},"x":1})", {"/card"}, {"/card/number"}),
      R"({"card":{"number":"[redacted]","brand":"visa"}})");
  EXPECT_EQ(selected(R"({"card":{"number":"4111"},"x":1})", {"/card/number"}, {"/card"}),
            R"({"card":null})");
}

TEST(selected_json, refuses_what_readers_may_read_differently) {
  for (const std::string_view text : {"", "{", "{\"a\":1}x", "<html>", "{\"a\":1,\"a\":2}",
                                      "{\"a\":\"\x80\"}", "{'a':1}", "{\"a\":1}\n{\"a\":2}"}) {
    EXPECT_EQ(redacted(text, {"/a"}), "refused") << text;
  }
  EXPECT_EQ(redacted("\xef\xbb\xbf{\"a\":\"1\"}", {"/a"}), R"({"a":"[redacted]"})");
}

TEST(selected_json, refuses_what_would_be_longer_than_is_kept) {
  EXPECT_EQ(selected(R"(["",""])", {}, {"/*"}, 27), R"(["[redacted]","[redacted]"])");
  EXPECT_EQ(selected(R"(["",""])", {}, {"/*"}, 26), "refused");
}

}  // namespace
}  // namespace onceguard
