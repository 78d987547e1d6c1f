// What a command wrote comes in its order, wherever each piece waited.
#include "command/output_queue.hpp"

#include <string>

#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"

namespace onceguard::testing {
namespace {

constexpr std::size_t part = 100u << 10;  // three fill the memory

std::string piece(char name) { return std::string(part, name); }

struct waiting_output : ::testing::Test {
  void add(const std::string& names) {
    for (const char name : names) queue.add(output_stream::out, piece(name));
  }
  std::string taken(std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += queue.take()->bytes.front();
    return out;
  }

  temporary_folder folder;
  output_queue queue{folder.file(""), 5 * part};
};

TEST_F(waiting_output, of_the_disk_is_not_overtaken_by_what_comes_later) {
  add("abcde");
  EXPECT_EQ(taken(1), "a") << "now the memory has room, and d and e are on the disk";
  add("f");
  EXPECT_EQ(taken(5), "bcdef");
}

TEST_F(waiting_output, for_which_the_disk_has_no_room_is_not_overtaken) {
  add("abcdefghi");
  EXPECT_TRUE(queue.is_full());
  EXPECT_EQ(taken(1), "a");
  add("j");
  EXPECT_EQ(taken(9), "bcdefghij");
  EXPECT_FALSE(queue.is_full());
}

TEST_F(waiting_output, ends_with_the_last_piece) {
  add("abcd");
  queue.close();
  EXPECT_EQ(taken(4), "abcd");
  EXPECT_FALSE(queue.take());
}

}  // namespace
}  // namespace onceguard::testing
