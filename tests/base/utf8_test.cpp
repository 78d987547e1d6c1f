// Characters of UTF-8.
#include "base/utf8.hpp"

#include <string>

#include <gtest/gtest.h>

namespace onceguard::base {
namespace {

TEST(utf8, the_first_character_is_read) {
  EXPECT_EQ(first_character("az").value, U'a');
  EXPECT_EQ(first_character(std::string_view("\0", 1)).size, 1u);
  EXPECT_EQ(first_character("\xc3\xa9z").value, char32_t{0xe9});
  EXPECT_EQ(first_character("\xe2\x82\xac").value, char32_t{0x20ac});
  EXPECT_EQ(first_character("\xf4\x8f\xbf\xbf").value, char32_t{0x10ffff});
  EXPECT_EQ(first_character("\xf0\x9f\x98\x80z").size, 4u);
}

TEST(utf8, what_is_malformed_has_no_size) {
  for (const std::string wrong : {"\x80", "\xc3", "\xc3z", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf",
                                  "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf",
                                  "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe2\x82"}) {
    EXPECT_EQ(first_character(wrong).size, 0u) << wrong;
  }
}

}  // namespace
}  // namespace onceguard::base
