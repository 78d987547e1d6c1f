#include "text/json_text.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace onceguard {
namespace {

using nlohmann::json;

bool is_printable_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

TEST(json_string, escapes_what_json_asks_for) {
  EXPECT_EQ(json_string("a\"b\\c\n\x01"), R"("a\"b\\c\n\u0001")");
  EXPECT_EQ(json_string("\xc3\xa9"), "\"\xc3\xa9\"");
  EXPECT_EQ(json_string("\xc3\xa9\x7f", true), R"("\u00e9\u007f")");
}

TEST(json_string, replaces_what_is_not_utf8) {
  EXPECT_EQ(json::parse(json_string("a\xff"
                                    "b"))
                .get<std::string>(),
            "a\xef\xbf\xbd"
            "b");
}

RC_GTEST_PROP(json_string, is_json_for_any_bytes, (const std::string& bytes)) {
  const auto read = json::parse(json_string(bytes)).get<std::string>();
  RC_ASSERT(!is_utf8(bytes) || read == bytes);
  RC_ASSERT(is_printable_ascii(json_string(bytes, true)));
}

TEST(terminal_text, passes_letters_and_line_ends_only) {
  EXPECT_EQ(terminal_text("a\n\tb\x1b[31m\x7f"), "a\n\tb?[31m?");
  EXPECT_EQ(terminal_text("\xc3\xa9\xc2\x9b\xc2\xa9"), "\xc3\xa9?\xc2\xa9");
}

TEST(terminal_text, passes_nothing_that_shows_other_than_it_stands) {
  for (const char* turned : {"\u202e", "\u2066", "\u200f", "\u061c", "\u2028", "\u200b", "\ufeff",
                             "\u00ad", "\U000e0041"}) {
    EXPECT_EQ(terminal_text("a" + std::string(turned) + "b"), "a?b");
  }
  EXPECT_EQ(terminal_text("\x9b"
                          "31m\xe2\x80"),
            "?31m??");
  EXPECT_EQ(terminal_text("\u4e2d \U0001f600 \u2014"), "\u4e2d \U0001f600 \u2014");
}

}  // namespace
}  // namespace onceguard
