#include "admin/sign_ins.hpp"

#include <gtest/gtest.h>

namespace onceguard::admin {
namespace {

using namespace std::chrono_literals;

std::string begin(sign_ins& all, const std::string& token, access granted, sign_ins::instant now) {
  return all.begin("Bearer " + token, granted, now).value_or("");
}

TEST(sign_ins, a_cookie_stands_for_what_was_shown) {
  sign_ins all;
  const sign_ins::instant now{};
  const auto one = begin(all, "one", access::view, now);
  const auto other = begin(all, "other", access::view, now);
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
  const auto cookie = begin(all, "one", access::view, now);
  now += sign_ins::idle_max;
  EXPECT_NE(all.find(cookie, now), nullptr);
  now += sign_ins::idle_max + 1s;
  EXPECT_EQ(all.find(cookie, now), nullptr);
  EXPECT_EQ(all.find(cookie, now - 2s), nullptr);
}

TEST(sign_ins, nobody_stays_for_longer_than_a_day_of_work) {
  sign_ins all;
  sign_ins::instant now{};
  const auto cookie = begin(all, "one", access::view, now);
  const auto end = now + sign_ins::age_max;
  for (; now <= end; now += sign_ins::idle_max) EXPECT_NE(all.find(cookie, now), nullptr);
  EXPECT_EQ(all.find(cookie, end + 1s), nullptr);
}

/// As many as there can be, each with a token of its own.
void fill(sign_ins& all, access granted, sign_ins::instant now, std::size_t there) {
  for (std::size_t i = there; i < sign_ins::number_max; ++i) {
    EXPECT_NE(begin(all, std::to_string(i), granted, now), "");
  }
}

TEST(sign_ins, one_too_many_ends_the_one_that_was_silent_for_the_longest_time) {
  for (const auto granted : {access::view, access::act}) {
    sign_ins all;
    const sign_ins::instant now{};
    const auto first = begin(all, "first", granted, now);
    const auto second = begin(all, "second", granted, now);
    fill(all, granted, now + 1s, 2);
    EXPECT_NE(all.find(first, now + 2s), nullptr);
    EXPECT_NE(begin(all, "one too many", granted, now + 3s), "");
    EXPECT_NE(all.find(first, now + 3s), nullptr);
    EXPECT_EQ(all.find(second, now + 3s), nullptr);
  }
}

TEST(sign_ins, one_token_ends_its_own_alone) {
  sign_ins all;
  const sign_ins::instant now{};
  const auto viewer = begin(all, "viewer", access::view, now);
  const auto first = begin(all, "busy", access::view, now + 1s);
  for (std::size_t i = 1; i < sign_ins::number_max_of_token; ++i) {
    static_cast<void>(begin(all, "busy", access::view, now + 2s));
  }
  EXPECT_NE(all.find(first, now + 1s), nullptr);
  EXPECT_NE(begin(all, "busy", access::view, now + 3s), "");
  EXPECT_EQ(all.find(first, now + 3s), nullptr);
  EXPECT_NE(all.find(viewer, now + 3s), nullptr);
}

TEST(sign_ins, viewers_go_before_operators) {
  sign_ins all;
  const sign_ins::instant now{};
  const auto silent = begin(all, "operator", access::act, now);
  const auto viewer = begin(all, "viewer", access::view, now + 2s);
  fill(all, access::act, now + 1s, 2);
  EXPECT_NE(begin(all, "another operator", access::act, now + 3s), "");
  EXPECT_EQ(all.find(viewer, now + 3s), nullptr);
  EXPECT_EQ(begin(all, "another viewer", access::view, now + 3s), "");
  EXPECT_NE(all.find(silent, now + 3s), nullptr);
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
