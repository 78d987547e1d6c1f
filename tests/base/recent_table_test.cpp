#include "base/recent_table.hpp"

#include <gtest/gtest.h>

namespace onceguard::base {
namespace {

constexpr std::size_t group = recent_table<int>::group_size;

/// The hashes of all that share the first group of a table with one group.
std::uint64_t hash_of(std::size_t number) { return number << 1; }

void put(recent_table<int>& table, std::size_t number) {
  table.update(hash_of(number), [&](int& value, bool) {
    value = static_cast<int>(number);
    return 0;
  });
}

TEST(recent_table, forgets_the_oldest_of_a_full_group) {
  recent_table<int> table(group);
  for (std::size_t i = 1; i <= group + 1; ++i) put(table, i);
  EXPECT_FALSE(table.find(hash_of(1)));
  for (std::size_t i = 2; i <= group + 1; ++i) EXPECT_EQ(table.find(hash_of(i)), int(i));
}

TEST(recent_table, finds_nothing_that_was_erased_wherever_it_stood) {
  for (std::size_t erased = 1; erased <= group; ++erased) {
    recent_table<int> table(group);
    for (std::size_t i = 1; i <= group; ++i) put(table, i);
    table.erase(hash_of(erased));
    for (std::size_t i = 1; i <= group; ++i) {
      EXPECT_EQ(table.find(hash_of(i)).has_value(), i != erased) << i << " without " << erased;
    }
    const auto found = table.update(hash_of(erased), [](int& value, bool known) {
      EXPECT_EQ(value, 0);
      return known;
    });
    EXPECT_FALSE(found) << "it begins anew";
  }
}

TEST(recent_table, changes_what_is_known_and_nothing_else) {
  recent_table<int> table(group);
  put(table, 1);
  table.update_known(hash_of(1), [](int& value) { value = 7; });
  table.update_known(hash_of(2), [](int&) { ADD_FAILURE() << "nobody knows it"; });
  EXPECT_EQ(table.find(hash_of(1)), 7);
  EXPECT_FALSE(table.find(hash_of(2)));
}

}  // namespace
}  // namespace onceguard::base
