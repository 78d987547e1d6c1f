// The witness file: what it says after a restart, and what happens where it can't be written.
#include "engine/witness.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace onceguard {
namespace {

std::function<void(const std::string& path)> on_flush;  // while a test listens

}  // namespace
}  // namespace onceguard

/// In the place of the C library's, in this program.
extern "C" int fsync(int fd) {
  if (onceguard::on_flush) {
    onceguard::on_flush(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)));
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace onceguard {
namespace {

std::string content(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

class counted_lines final : public base::log_sink {
 public:
  void write(const base::event_info& event, base::log_level,
             std::span<const base::log_field>) override {
    if (event.id == base::event::witness_not_written) ++count;
  }
  std::atomic<int> count{0};
};

class witness_test : public ::testing::Test {
 protected:
  const testing::temporary_folder folder_;
  const std::string directory_ = folder_.path().string();
  const std::string file_ = folder_.file("store.witness");
};

TEST_F(witness_test, what_was_written_is_there_for_the_next_process) {
  {
    witness first(directory_);
    EXPECT_FALSE(first.read());
    first.write({"one", 7, 11, 13, 17, 19});
    EXPECT_EQ(content(file_), "one 7 11 13 17 19\n") << "when the call returns";
  }
  const auto found = witness(directory_).read();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->identity, "one");
  EXPECT_EQ(found->generation, 7u);
  EXPECT_EQ(found->refuse_until_wall, 11);
  EXPECT_EQ(found->flagged_until_wall, 13);
  EXPECT_EQ(found->refuse_length, 17);
  EXPECT_EQ(found->flagged_length, 19);
}

TEST_F(witness_test, content_is_on_the_disk_before_its_name_and_the_name_before_the_call_returns) {
  witness one(directory_);
  one.write({"old", 1, 0, 0, 0, 0});
  std::vector<std::string> seen;
  on_flush = [&](const std::string& path) {
    seen.push_back(std::filesystem::path(path).filename().string() + ": " + content(file_));
  };
  one.write({"new", 2, 0, 0, 0, 0});
  on_flush = nullptr;
  const auto name = folder_.path().filename().string();
  const auto next = "store.witness.next." + std::to_string(::getpid());
  const std::vector<std::string> wanted{next + ": old 1 0 0 0 0\n", name + ": new 2 0 0 0 0\n"};
  EXPECT_EQ(seen, wanted);
}

TEST_F(witness_test, what_is_written_soon_is_there_at_the_end_and_never_over_what_came_later) {
  for (std::uint64_t round = 0; round < 50; ++round) {
    {
      witness one(directory_);
      one.write_soon({"soon", 2 * round, 0, 0, 0, 0});
      if (round % 2 == 0) one.write({"later", 2 * round + 1, 0, 0, 0, 0});
    }
    const auto found = witness(directory_).read();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->generation, 2 * round + (round % 2 == 0 ? 1 : 0));
  }
}

TEST_F(witness_test, a_file_of_an_earlier_version_is_read_and_a_damaged_one_is_none) {
  std::ofstream(file_) << "one 7\n";
  const auto found = witness(directory_).read();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->generation, 7u);
  EXPECT_EQ(found->refuse_until_wall, 0);
  std::ofstream(file_) << "";
  EXPECT_FALSE(witness(directory_).read());
}

TEST_F(witness_test, what_can_not_be_written_is_written_once_there_is_a_way) {
  const auto later = folder_.path() / "later";
  counted_lines lines;
  base::set_log_sink(&lines);
  witness one(later.string());
  one.write({"one", 1, 0, 0, 0, 0});
  testing::wait_until("another try", [&] { return lines.count >= 2; });
  EXPECT_FALSE(one.check());
  std::filesystem::create_directory(later);
  EXPECT_TRUE(one.check());
  testing::wait_until("the witness", [&] { return one.read() && one.read()->generation == 1; });
  base::set_log_sink(nullptr);
}

TEST_F(witness_test, a_directory_that_can_not_be_written_is_reported) {
  EXPECT_TRUE(witness("").check()) << "none is kept";
  EXPECT_TRUE(witness(directory_).check());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "the trial leaves nothing";
  const auto reply = witness(folder_.file("nowhere")).check();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::invalid_argument);
  EXPECT_NE(reply.error().detail.find("nowhere: nothing can be written there: No such file"),
            std::string::npos)
      << reply.error().detail;
}

}  // namespace
}  // namespace onceguard
