// Entity tags after RFC 9110, 8.8.3.
#include <gtest/gtest.h>

#include <onceguard/etag.hpp>

namespace onceguard::http {
namespace {

etag tag(std::string_view text) { return parse_etag(text).value(); }

TEST(etag, reads_what_it_writes) {
  for (const auto* text : {"\"7\"", "W/\"7\"", "\"\"", "W/\"\"", "\"a,b\"", "\"\x80\xff\"", "\"*\"",
                           "\"W/\"", "\"!#~\""}) {
    EXPECT_EQ(tag(text).text(), text);
  }
  EXPECT_EQ(make_etag(-7).text(), "\"-7\"");
  EXPECT_EQ(tag(" \"7\"\t"), make_etag(7));
}

TEST(etag, refuses_what_is_none_and_names_the_byte) {
  struct wrong_tag {
    std::string_view text;
    const char* detail;
  };
  using namespace std::string_view_literals;
  const wrong_tag wrong[] = {
      {"", "an entity tag begins with a quote, or with W/ and a quote (byte 1)"},
      {"7", "an entity tag begins with a quote, or with W/ and a quote (byte 1)"},
      {"*", "an entity tag begins with a quote, or with W/ and a quote (byte 1)"},
      {"w/\"7\"", "an entity tag begins with a quote, or with W/ and a quote (byte 1)"},
      {"W/7", "an entity tag begins with a quote, or with W/ and a quote (byte 3)"},
      {"\"7", "the closing quote is missing (byte 3)"},
      {"\"7 8\"", "this character is not allowed in an entity tag (byte 3)"},
      {"\"\0\""sv, "this character is not allowed in an entity tag (byte 2)"},
      {"\"\x7f\"", "this character is not allowed in an entity tag (byte 2)"},
      {"\"7\"8", "something follows the entity tag (byte 4)"},
      {"\"7\", \"8\"", "something follows the entity tag (byte 4)"},
  };
  for (const auto& one : wrong) {
    const auto read = parse_etag(one.text);
    ASSERT_FALSE(read) << one.text;
    EXPECT_EQ(read.error().code, errc::invalid_argument);
    EXPECT_EQ(read.error().detail, one.detail) << one.text;
  }
}

// The table of RFC 9110, 8.8.3.2.
TEST(etag, compares_as_the_rfc_says) {
  struct comparison {
    const char* one;
    const char* other;
    bool strong;
    bool weak;
  };
  constexpr comparison table[] = {{"W/\"1\"", "W/\"1\"", false, true},
                                  {"W/\"1\"", "W/\"2\"", false, false},
                                  {"W/\"1\"", "\"1\"", false, true},
                                  {"\"1\"", "W/\"1\"", false, true},
                                  {"\"1\"", "\"1\"", true, true}};
  for (const auto& line : table) {
    EXPECT_EQ(strongly_equal(tag(line.one), tag(line.other)), line.strong);
    EXPECT_EQ(weakly_equal(tag(line.one), tag(line.other)), line.weak);
  }
}

TEST(etag_condition, is_a_star_or_a_list) {
  EXPECT_TRUE(parse_etag_condition(" * ")->any);
  for (const auto* text : {"\"a,b\",W/\"c\"", " \"a,b\" ,\tW/\"c\" ", ",, \"a,b\", ,W/\"c\",",
                           ",\"a,b\",,W/\"c\" ,"}) {
    const auto read = parse_etag_condition(text);
    ASSERT_TRUE(read) << text << read.error().detail;
    EXPECT_FALSE(read->any);
    EXPECT_EQ(read->tags, (std::vector{tag("\"a,b\""), tag("W/\"c\"")})) << text;
  }
}

TEST(etag_condition, that_can_t_be_read_is_an_error) {
  for (const auto* text : {"", " ", ",", "a", "\"a\" \"b\"", "\"a\"\"b\"", "*, \"a\"", "\"a\", *",
                           "\"a\", b", "\"a", "**"}) {
    EXPECT_FALSE(parse_etag_condition(text)) << text;
  }
  EXPECT_EQ(parse_etag_condition("\"a\" \"b\"").error().detail,
            "a comma is missing between two entity tags (byte 5)");
  EXPECT_EQ(parse_etag_condition(" ,").error().detail, "there is no entity tag (byte 3)");
}

}  // namespace
}  // namespace onceguard::http
