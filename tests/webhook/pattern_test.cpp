#include "webhook/pattern.hpp"

#include <gtest/gtest.h>

namespace onceguard::webhook {
namespace {

using kind = pattern_part::kind;
using location = source::location;

TEST(source, is_read) {
  EXPECT_EQ(parse_source("header:X-Id")->where, location::header);
  EXPECT_EQ(parse_source("json:/a/0")->name, "/a/0");
  EXPECT_EQ(parse_source("form:a.b")->where, location::form);
  EXPECT_EQ(parse_source("query:q")->where, location::query);
  EXPECT_EQ(parse_source("signature:t")->where, location::signature);
  EXPECT_EQ(parse_source("signed-hash")->where, location::signed_hash);
  for (const auto* wrong : {"", "nowhere", "json:id", "json:", "json:/~2", "header:", "header:a b",
                            "form:a=b", "query:", "signed-hash:a"}) {
    EXPECT_FALSE(parse_source(wrong)) << wrong;
  }
}

TEST(pattern, has_text_and_placeholders) {
  const auto read = parse_pattern("v0:{timestamp}.{json:/a/0}{*form:b}{header:C}|{query:d}{url}");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 9U);
  EXPECT_EQ(read->at(0).text, "v0:");
  EXPECT_EQ(read->at(1).type, kind::timestamp);
  EXPECT_EQ(read->at(2).text, ".");
  EXPECT_EQ(read->at(3).position, (source{location::json, "/a/0"}));
  EXPECT_FALSE(read->at(3).takes_any);
  EXPECT_EQ(read->at(4).position, (source{location::form, "b"}));
  EXPECT_TRUE(read->at(4).takes_any);
  EXPECT_EQ(read->at(6).text, "|");
  EXPECT_EQ(read->at(8).type, kind::url);
}

TEST(pattern, refuses_what_it_does_not_know) {
  EXPECT_EQ(parse_pattern("{boby}").error().detail.substr(0, 19), "there is no {boby};");
  for (const auto* wrong : {"{", "}", "a{body", "{body}}", "{}", "{signature:t}", "{*body}",
                            "{json:a}", "{*signed-hash}", "{{body}}"}) {
    EXPECT_FALSE(parse_pattern(wrong)) << wrong;
  }
}

TEST(pattern, is_an_id_with_values_only) {
  EXPECT_EQ(parse_id("json:/id")->size(), 1U);
  EXPECT_EQ(parse_id("{json:/a}:{header:B}")->size(), 3U);
  for (const auto* wrong : {"", "id", "{body}", "{json:/a}{url}", "{*json:/a}", "{id}"}) {
    EXPECT_FALSE(parse_id(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace onceguard::webhook
