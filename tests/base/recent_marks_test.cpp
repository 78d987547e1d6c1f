// Marks that were seen lately are found with their words, and room is never more than was given.
#include "base/recent_marks.hpp"

#include <atomic>
#include <fstream>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace onceguard::base {
namespace {

long resident_bytes() {
  long pages = 0;
  std::ifstream("/proc/self/statm").ignore(64, ' ') >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

TEST(recent_marks, a_mark_that_comes_again_has_its_former_word) {
  recent_marks seen(16);
  EXPECT_EQ(seen.exchange(5, 70), std::nullopt);
  EXPECT_EQ(seen.exchange(6, 80), std::nullopt);
  EXPECT_EQ(seen.exchange(5, 71), 70u);
  EXPECT_EQ(seen.exchange(5, 72), 71u);
  EXPECT_EQ(seen.exchange(6, 80), 80u);
}

TEST(recent_marks, the_next_mark_of_a_place_takes_it_over) {
  recent_marks seen(16);
  EXPECT_EQ(seen.exchange(5, 1), std::nullopt);
  EXPECT_EQ(seen.exchange(5 + 16, 2), std::nullopt);
  EXPECT_EQ(seen.exchange(5, 3), std::nullopt);
}

TEST(recent_marks, a_mark_that_was_forgotten_is_new) {
  recent_marks seen(16);
  EXPECT_EQ(seen.exchange(5, 1), std::nullopt);
  seen.forget(5 + 16);  // of another mark in the same place
  EXPECT_EQ(seen.exchange(5, 1), 1u);
  seen.forget(5);
  EXPECT_EQ(seen.exchange(5, 1), std::nullopt);
}

TEST(recent_marks, a_table_takes_no_memory_for_places_without_a_mark) {
  constexpr long size = 64L << 20;
  const auto before = resident_bytes();
  recent_marks seen(static_cast<std::size_t>(size) / 16);
  EXPECT_EQ(seen.exchange(5, 1), std::nullopt);
  EXPECT_EQ(seen.exchange(5, 2), 1u);
  EXPECT_LT(resident_bytes() - before, size / 8);
}

TEST(recent_marks, one_of_several_threads_finds_a_mark_new) {
  constexpr std::uint64_t marks = 20'000;
  recent_marks seen(1 << 16);
  std::atomic<std::uint64_t> found_new{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (std::uint64_t mark = 1; mark <= marks; ++mark) {
          if (!seen.exchange(mark, 0)) ++found_new;
        }
      });
    }
  }
  EXPECT_EQ(found_new, marks);
}

}  // namespace
}  // namespace onceguard::base
