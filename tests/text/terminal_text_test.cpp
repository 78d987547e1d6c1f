#include "text/terminal_text.hpp"

#include <string>

#include <gtest/gtest.h>

namespace onceguard {
namespace {

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
