#include "audit/line_file.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"

namespace onceguard {
namespace {

std::function<void()> on_seek;  // while a test listens

}  // namespace
}  // namespace onceguard

/// In the place of the C library's, in this program.
extern "C" off_t lseek(int descriptor, off_t offset, int whence) noexcept {
  if (onceguard::on_seek) onceguard::on_seek();
  return ::syscall(SYS_lseek, descriptor, offset, whence);
}

namespace onceguard {
namespace {

class line_file_test : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder.file(name); }
  static std::string bytes_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  testing::temporary_folder folder;
};

/// The largest size of a file that this process writes.
class size_limit {
 public:
  explicit size_limit(rlim_t size) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit wanted{size, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &wanted);
  }
  ~size_limit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  size_limit(const size_limit&) = delete;
  size_limit& operator=(const size_limit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(line_file_test, a_part_of_a_line_is_taken_back) {
  line_file file(path("audit"));
  ASSERT_TRUE(file.open());
  ASSERT_TRUE(file.append("one\n"));
  {
    const size_limit limit(10);
    const auto torn = file.append("a long line\n");
    ASSERT_FALSE(torn);
    EXPECT_NE(torn.error().detail.find("only a part"), std::string::npos);
  }
  ASSERT_TRUE(file.append("two\n"));
  EXPECT_EQ(bytes_of(path("audit")), "one\ntwo\n");
}

TEST_F(line_file_test, a_part_of_a_line_before_anothers_line_stays) {
  line_file file(path("audit"));
  ASSERT_TRUE(file.open());
  ASSERT_TRUE(file.append("one\n"));
  {
    std::optional<size_limit> limit(10);
    on_seek = [&] {
      limit.reset();
      std::ofstream(path("audit"), std::ios::app) << "of another process\n";
    };
    EXPECT_FALSE(file.append("a long line\n"));
    on_seek = nullptr;
  }
  ASSERT_TRUE(file.append("two\n"));
  EXPECT_EQ(bytes_of(path("audit")), "one\na longof another process\n\ntwo\n");
}

TEST_F(line_file_test, a_file_that_was_renamed_or_removed_is_opened_anew) {
  line_file file(path("audit"));
  ASSERT_TRUE(file.open());
  ASSERT_TRUE(file.append("one\n"));
  std::filesystem::rename(path("audit"), path("former"));
  ASSERT_TRUE(file.append("two\n"));
  EXPECT_EQ(bytes_of(path("former")), "one\n");
  EXPECT_EQ(bytes_of(path("audit")), "two\n");
  std::filesystem::remove(path("audit"));
  ASSERT_TRUE(file.append("three\n"));
  EXPECT_EQ(bytes_of(path("audit")), "three\n");
}

TEST_F(line_file_test, a_fifo_that_nobody_reads_is_an_error) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  line_file file(path("fifo"));
  const auto opened = file.open();
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().detail.find("nobody reads it"), std::string::npos);
}

TEST_F(line_file_test, a_reader_that_stalls_is_an_error_soon_and_spoils_no_later_line) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  const int reader = ::open(path("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  line_file file(path("fifo"));
  ASSERT_TRUE(file.open());
  const std::string line = std::string(9'000, 'x') + "\n";  // longer than what a pipe takes whole
  const auto begin = std::chrono::steady_clock::now();
  std::size_t whole = 0;
  while (file.append(line)) ++whole;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  std::string got;
  std::array<char, 4'096> room{};
  const auto take = [&] {
    for (ssize_t size = 0; (size = ::read(reader, room.data(), room.size())) > 0;) {
      got.append(room.data(), static_cast<std::size_t>(size));
    }
  };
  take();
  ASSERT_TRUE(file.append("the next one\n"));
  take();
  ::close(reader);
  EXPECT_EQ(got.substr(0, line.size() * whole).find_first_not_of("x\n"), got.npos);
  EXPECT_TRUE(got.ends_with("\nthe next one\n"));
}

TEST_F(line_file_test, a_reader_that_stalls_is_waited_for_once) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  const int reader = ::open(path("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  line_file file(path("fifo"));
  ASSERT_TRUE(file.open());
  const std::string line = std::string(1'000, 'x') + "\n";
  while (file.append(line)) continue;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 500; ++i) {
    const auto refused = file.append(line);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().detail.find("does not keep up"), std::string::npos);
  }
  // Not 500 waits, of a tenth of a second each.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(25));
  std::vector<char> room(1u << 20);
  EXPECT_GT(::read(reader, room.data(), room.size()), 0);
  EXPECT_TRUE(file.append("the next one\n"));
  ::close(reader);
}

}  // namespace
}  // namespace onceguard
