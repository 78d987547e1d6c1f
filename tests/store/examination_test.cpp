#include "store/examination.hpp"

#include <gtest/gtest.h>

namespace onceguard {
namespace {

TEST(is_faulty, from_the_first_version_on_and_before_the_mended_one) {
  constexpr faulty_versions faulty{"14.0", "14.4"};
  EXPECT_TRUE(is_faulty("14.0", faulty));
  EXPECT_TRUE(is_faulty("14.3 (Debian 14.3-1.pgdg110+1)", faulty));
  EXPECT_FALSE(is_faulty("14.4", faulty));
  EXPECT_FALSE(is_faulty("14.10", faulty));
  EXPECT_FALSE(is_faulty("13.9", faulty));
  EXPECT_FALSE(is_faulty("15.8", faulty));
}

TEST(is_faulty, numbers_are_numbers) {
  constexpr faulty_versions faulty{"7.0.0", "7.0.11"};
  EXPECT_TRUE(is_faulty("7.0.9", faulty));
  EXPECT_FALSE(is_faulty("7.0.15", faulty));
  EXPECT_FALSE(is_faulty("7.2.0", faulty));
  EXPECT_FALSE(is_faulty("6.2.14", faulty));
  EXPECT_FALSE(is_faulty("", faulty)) << "a server that does not say";
}

}  // namespace
}  // namespace onceguard
