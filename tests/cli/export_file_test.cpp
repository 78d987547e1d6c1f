// How what was exported ages.
#include "cli/keys/export_file.hpp"

#include <gtest/gtest.h>

namespace onceguard::cli {
namespace {

imported_record some() {
  imported_record out;
  out.lease_over = milliseconds(10);
  out.retry_after = milliseconds(20);
  out.claimed_ago = milliseconds(300);
  out.settled_ago = milliseconds(200);
  out.retention_left = milliseconds(1'000);
  return out;
}

TEST(aged, by_as_much_as_has_passed) {
  const auto later = aged(some(), milliseconds(15));
  ASSERT_TRUE(later);
  EXPECT_EQ(later->retention_left, milliseconds(985));
  EXPECT_EQ(later->retry_after, milliseconds(5));
  EXPECT_EQ(later->lease_over, milliseconds(25));
  EXPECT_EQ(later->claimed_ago, milliseconds(315));
  EXPECT_EQ(later->settled_ago, milliseconds(215));
  EXPECT_FALSE(aged(some(), milliseconds(1'000)));
}

TEST(aged, back_to_when_an_export_began_loses_nothing_on_the_way) {
  const auto there = aged(some(), milliseconds(-100));
  ASSERT_TRUE(there);
  EXPECT_EQ(there->retention_left, milliseconds(1'100));
  EXPECT_EQ(there->lease_over, milliseconds(0));
  const auto back = aged(*there, milliseconds(100));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->retention_left, some().retention_left);
  EXPECT_EQ(back->retry_after, some().retry_after);
  EXPECT_EQ(back->settled_ago, some().settled_ago);
}

TEST(aged, what_may_run_or_never_expires_stays_so) {
  auto request = some();
  request.retry_after = milliseconds(0);
  request.retention_left = milliseconds(0);
  const auto before = aged(request, milliseconds(-100));
  ASSERT_TRUE(before);
  EXPECT_EQ(before->retry_after, milliseconds(0));
  EXPECT_EQ(before->retention_left, milliseconds(0));
}

}  // namespace
}  // namespace onceguard::cli
