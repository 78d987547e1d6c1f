#include "base/base64.hpp"

#include <string>

#include <gtest/gtest.h>

namespace onceguard::base {
namespace {

TEST(base64, is_padded) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64(std::string("\x00\xff\n", 3)), "AP8K");
}

TEST(base64, is_read_in_its_one_spelling) {
  for (const std::string bytes : {"", "f", "fo", "foo", "foobar", "\xff\n"}) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
  }
  for (const char* text :
       {"Z", "Zg=", "Zg", "Zh==", "Zm9=", "Zg==Zg==", "====", "Z\xc3==", "Zm 9"}) {
    EXPECT_FALSE(from_base64(text)) << text;
  }
}

}  // namespace
}  // namespace onceguard::base
