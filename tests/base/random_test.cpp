// Random bytes in a process that was forked from another.
#include "base/random.hpp"

#include <array>
#include <iterator>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace onceguard::base {
namespace {

using random_id = std::array<unsigned char, 16>;

random_id next_id() {
  random_id out{};
  random_bytes(out);
  return out;
}

/// Makes the next id here and in a child.
void expect_another_in_a_child() {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const auto child = ::fork();
  if (child == 0) {
    const auto made = next_id();
    ::_exit(::write(ends[1], made.data(), made.size()) == std::ssize(made) ? 0 : 1);
  }
  const auto own = next_id();
  random_id of_child{};
  EXPECT_EQ(::read(ends[0], of_child.data(), of_child.size()), std::ssize(of_child));
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  for (const int end : ends) ::close(end);
  EXPECT_NE(own, of_child) << "two claims would be one";
}

TEST(random_bytes, of_a_forked_process_are_not_those_of_its_parent) {
  std::thread([] {
    next_id();  // this thread has some in reserve now
    expect_another_in_a_child();
  }).join();
}

}  // namespace
}  // namespace onceguard::base
