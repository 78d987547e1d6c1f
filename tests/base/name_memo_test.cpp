#include "base/name_memo.hpp"

#include <new>
#include <string>

#include <gtest/gtest.h>

namespace onceguard::base {
namespace {

TEST(name_memo, computes_once_for_a_name_that_comes_again) {
  name_memo<int> memo;
  int times = 0;
  const auto compute = [&](std::string_view) { return ++times; };
  EXPECT_EQ(memo.find("Host", compute), 1);
  EXPECT_EQ(memo.find("Host", compute), 1);
  EXPECT_EQ(memo.find("host", compute), 2);
  EXPECT_EQ(memo.find("host", compute), 2);
}

TEST(name_memo, never_takes_one_name_for_another) {
  name_memo<std::string> memo;
  const auto compute = [](std::string_view name) { return std::string(name); };
  // Many more than it has slots, of the same lengths, and each met again after others.
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 2'000; ++i) {
      const auto name = "X-" + std::to_string(1'000 + i * 7 % 2'000);
      EXPECT_EQ(memo.find(name, compute), name);
      const auto turned = std::string(name.rbegin(), name.rend());
      EXPECT_EQ(memo.find(turned, compute), turned);
    }
  }
}

TEST(name_memo, takes_names_of_any_length) {
  name_memo<std::size_t> memo;
  const auto compute = [](std::string_view name) { return name.size(); };
  for (int round = 0; round < 2; ++round) {
    for (std::size_t size = 0; size < 400; ++size) {
      EXPECT_EQ(memo.find(std::string(size, 'x'), compute), size);
    }
  }
}

TEST(name_memo, remembers_nothing_of_a_computation_that_failed) {
  name_memo<int> memo;
  const auto fail = [](std::string_view) -> int { throw std::bad_alloc(); };
  const auto known = [](std::string_view) { return 7; };
  EXPECT_EQ(memo.find("Host", known), 7);
  EXPECT_THROW(static_cast<void>(memo.find("host", fail)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(memo.find("host", fail)), std::bad_alloc);
  EXPECT_EQ(memo.find("host", known), 7);
}

}  // namespace
}  // namespace onceguard::base
