// Files that change while they are watched: none is read half-way.
#include "base/file_watch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <sstream>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace onceguard::base {
namespace {

using ::testing::ElementsAre;

class file_watch_test : public ::testing::Test {
 protected:
  void write(const std::string& text) const { std::ofstream(path_, std::ios::trunc) << text; }
  void append(const std::string& text) const { std::ofstream(path_, std::ios::app) << text; }
  [[nodiscard]] std::string content() const {
    std::ifstream from(path_);
    std::ostringstream out;
    if (from) out << from.rdbuf();
    return out.str();
  }
  /// What follows from a content: it is taken.
  file_watch::change taking(std::string text) {
    return [this, text = std::move(text)] {
      const std::lock_guard lock(mutex_);
      taken_.push_back(text);
    };
  }
  [[nodiscard]] std::vector<std::string> taken() {
    const std::lock_guard lock(mutex_);
    return taken_;
  }
  void wait_for_one() {
    testing::wait_until("a content that is taken", [this] { return !taken().empty(); });
  }

  void forget_taken() {
    const std::lock_guard lock(mutex_);
    taken_.clear();
  }
  /// Writes "1234567", part by part, over several looks of a second each.
  boot_clock::duration longest_gap_of_parts() {
    auto before = boot_now();
    write("1");
    boot_clock::duration longest{};
    for (const auto* more : {"2", "3", "4", "5", "6", "7"}) {
      const auto next = boot_now() + std::chrono::milliseconds(400);
      testing::wait_until("the next part", [next] { return boot_now() >= next; });
      const auto begin = boot_now();
      append(more);
      longest = std::max(longest, boot_now() - before);
      before = begin;
    }
    return longest;
  }

  testing::temporary_folder folder_;
  const std::string path_ = folder_.file("watched");
  std::mutex mutex_;
  std::vector<std::string> taken_;
};

TEST_F(file_watch_test, a_file_that_is_being_written_is_read_when_it_is_whole) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    write("before");
    forget_taken();
    const file_watch watch({path_}, [this] { return taking(content()); });
    // What lies untouched for as long as from one look to the next counts as whole.
    if (longest_gap_of_parts() >= std::chrono::milliseconds(950)) continue;
    wait_for_one();
    EXPECT_THAT(taken(), ElementsAre("1234567"));
    return;
  }
  FAIL() << "this machine never wrote the parts in time";
}

TEST_F(file_watch_test, what_was_read_while_somebody_wrote_is_dropped_and_read_again) {
  write("before");
  bool first = true;
  const file_watch watch({path_}, [&, this] {
    auto follows = taking(content());
    if (std::exchange(first, false)) append(", and the other half");
    return follows;
  });
  write("half");
  wait_for_one();
  EXPECT_THAT(taken(), ElementsAre("half, and the other half"));
}

TEST_F(file_watch_test, a_file_that_goes_away_has_changed) {
  write("before");
  const file_watch watch({path_}, [this] { return taking(content()); });
  ASSERT_EQ(std::remove(path_.c_str()), 0);
  wait_for_one();
  EXPECT_THAT(taken(), ElementsAre(""));
}

}  // namespace
}  // namespace onceguard::base
