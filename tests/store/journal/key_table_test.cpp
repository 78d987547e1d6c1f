// The table of keys: what it holds of keys that have gone.
#include "store/journal/key_table.hpp"

#include <array>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "store/journal/slot_index.hpp"

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

TEST(journal_key_table_test, keys_are_found_among_others_of_their_hash_that_come_and_go) {
  // Runs of cells begin at the end of the index and go on at its beginning.
  constexpr std::array<std::uint32_t, 5> marks{0, 1, 1U << 31, ~0U - 1, ~0U};
  std::mt19937 random(7);
  journal::slot_index index;
  std::map<std::uint32_t, std::uint32_t> known;  // slot to mark
  for (int i = 0; i < 20'000; ++i) {
    const auto slot = static_cast<std::uint32_t>(random() % 40);
    const auto found = known.find(slot);
    if (found == known.end()) {
      const auto mark = random() % 4 == 0 ? random() : marks.at(random() % marks.size());
      known.emplace(slot, static_cast<std::uint32_t>(mark));
      index.add(static_cast<std::uint32_t>(mark), slot);
    } else {
      const auto mark = found->second;
      index.remove(mark, slot);
      known.erase(found);
      EXPECT_FALSE(index.find(mark, [&](std::uint32_t seen) { return seen == slot; }));
    }
    ASSERT_EQ(index.size(), known.size());
    for (const auto& [each, mark] : known) {
      ASSERT_TRUE(index.find(mark, [each = each](std::uint32_t seen) { return seen == each; }));
    }
  }
}

TEST(journal_key_table_test, the_recovery_takes_the_last_of_each_key_in_any_order) {
  std::vector<journal::key_entry> all;
  for (const std::uint64_t number : {5U, 1U, 9U, 3U}) {
    all.emplace_back().number = number;
    all.back().id = id_of(number);
  }
  all.push_back(all.front());  // the same key, claimed anew
  all.back().number = 12;
  journal::key_table table;
  table.put_unordered(all);
  table.sort();
  std::vector<std::uint64_t> numbers;
  table.walk(1, [&](const journal::key_entry& each) {
    numbers.push_back(each.number);
    return true;
  });
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{3, 9, 12}));
  EXPECT_EQ(table.find(id_of(5))->number, 12u);
}

}  // namespace
}  // namespace onceguard::testing
