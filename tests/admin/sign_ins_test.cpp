#include "admin/sign_ins.hpp"

#include <gtest/gtest.h>

namespace onceguard::admin {
namespace {

using namespace std::chrono_literals;

TEST(sign_ins, a_cookie_stands_for_what_was_shown) {
  sign_ins all;
  const sign_ins::instant now{};
  const auto one = all.begin("Bearer one", now);
  const auto other = all.begin("Bearer other", now);
  EXPECT_EQ(one.size(), 64u);
  EXPECT_NE(one, other);
  ASSERT_NE(all.find(one, now), nullptr);
  EXPECT_EQ(*all.find(one, now), "Bearer one");
  EXPECT_EQ(*all.find(other, now), "Bearer other");
  EXPECT_EQ(all.find("", now), nullptr);
  EXPECT_EQ(all.find(one.substr(0, 63), now), nullptr);
  all.end(one);
  EXPECT_EQ(all.find(one, now), nullptr);
  EXPECT_NE(all.find(other, now), nullptr);
}

TEST(sign_ins, who_is_silent_is_signed_out) {
  sign_ins all;
  sign_ins::instant now{};
  const auto cookie = all.begin("Bearer one", now);
  now += sign_ins::idle_max;
  EXPECT_NE(all.find(cookie, now), nullptr);
  now += sign_ins::idle_max + 1s;
  EXPECT_EQ(all.find(cookie, now), nullptr);
  EXPECT_EQ(all.find(cookie, now - 2s), nullptr);
}

TEST(sign_ins, nobody_stays_for_longer_than_a_day_of_work) {
  sign_ins all;
  sign_ins::instant now{};
  const auto cookie = all.begin("Bearer one", now);
  const auto end = now + sign_ins::age_max;
  for (; now <= end; now += sign_ins::idle_max) EXPECT_NE(all.find(cookie, now), nullptr);
  EXPECT_EQ(all.find(cookie, end + 1s), nullptr);
}

TEST(sign_ins, one_too_many_ends_one_of_the_token_that_has_the_most) {
  sign_ins all;
  const sign_ins::instant now{};
  const auto alone = all.begin("Bearer operator", now);
  const auto first = all.begin("Bearer viewer", now + 1s);
  const auto second = all.begin("Bearer viewer", now + 2s);
  for (std::size_t i = 3; i < sign_ins::number_max; ++i) {
    static_cast<void>(all.begin("Bearer viewer", now + 3s));
  }
  EXPECT_NE(all.find(first, now + 4s), nullptr);
  static_cast<void>(all.begin("Bearer viewer", now + 5s));
  EXPECT_NE(all.find(first, now + 5s), nullptr);
  EXPECT_EQ(all.find(second, now + 5s), nullptr);
  for (std::size_t i = 0; i < 2 * sign_ins::number_max; ++i) {
    static_cast<void>(all.begin("Bearer viewer", now + 6s));
  }
  EXPECT_NE(all.find(alone, now + 6s), nullptr);
}

TEST(cookies, are_found_by_their_whole_name) {
  EXPECT_EQ(find_cookie("a=1; onceguard-80=x; b=2", "onceguard-80"), "x");
  EXPECT_EQ(find_cookie("onceguard-8081=y; onceguard-80=x", "onceguard-80"), "x");
  EXPECT_EQ(find_cookie("xonceguard-80=y", "onceguard-80"), "");
  EXPECT_EQ(find_cookie("onceguard-80", "onceguard-80"), "");
  EXPECT_EQ(find_cookie("", "onceguard-80"), "");
}

}  // namespace
}  // namespace onceguard::admin
