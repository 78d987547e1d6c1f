// The table of keys: what it holds of keys that have gone.
#include "store/journal/key_table.hpp"

#include <cstring>

#include <gtest/gtest.h>

namespace onceguard::testing {
namespace {

record_id id_of(std::uint64_t number) {
  record_id out{};
  std::memcpy(out.data(), &number, sizeof number);
  return out;
}

TEST(journal_key_table_test, keys_that_come_and_go_take_little_more_room_than_those_that_stay) {
  constexpr std::uint64_t keys = 40'000;
  journal::key_table table;
  for (std::uint64_t number = 1; number <= 10 * keys; ++number) {
    table.put(id_of(number), number);
    if (number > keys) table.remove(*table.find(id_of(number - keys)));
  }
  EXPECT_EQ(table.size(), keys);
  EXPECT_LT(table.slots(), keys * 6 / 5);
}

}  // namespace
}  // namespace onceguard::testing
