// Lines go out in their order, none waits for another's reader, and none is missing unsaid.
#include "cli/log/log_writer.hpp"

#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace onceguard::cli::log {
namespace {

using namespace std::chrono_literals;

constexpr auto plenty = 60s;
constexpr int page = 4'096;

std::string missing(std::uint64_t count) { return "missing " + std::to_string(count) + "\n"; }

/// A pipe of a page. A writer's thread may hang in it until the reader's end is closed.
class log_writer_test : public ::testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reader_ = ends[0], writer_ = ends[1];
    ASSERT_GE(::fcntl(writer_, F_SETPIPE_SZ, page), page);
  }
  // The write end stays open: its number must not become another's under a thread that hangs.
  void TearDown() override { ::close(reader_); }

  /// What is in the pipe, once there is something; nothing if that takes too long.
  std::string read_some() {
    pollfd until{reader_, POLLIN, 0};
    if (::poll(&until, 1, 60'000) != 1) return {};
    char bytes[page];
    const auto count = ::read(reader_, bytes, sizeof bytes);
    return {bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
  }

  std::string read_bytes(std::size_t count) {
    std::string text;
    while (text.size() < count) {
      const auto more = read_some();
      if (more.empty()) break;
      text += more;
    }
    return text;
  }

  std::string read_until(const std::string& last) {
    std::string text;
    while (text.find(last) == std::string::npos) {
      const auto more = read_some();
      if (more.empty()) break;
      text += more;
    }
    return text;
  }

  /// How often the line had to be written until that was sure; 0: it never was. A busy machine may
  /// let the writer's thread wait for too long.
  static std::size_t tries_of_surely(log_writer& out, const std::string& line) {
    for (std::size_t tries = 1; tries <= 5; ++tries) {
      if (out.write_surely(line)) return tries;
      if (!out.flush(plenty)) return 0;
    }
    return 0;
  }

  int reader_ = -1;
  int writer_ = -1;
};

TEST_F(log_writer_test, writes_in_order) {
  log_writer out(writer_, 1'000, missing);
  for (int i = 0; i < 9; ++i) out.write(std::to_string(i) + "\n");
  EXPECT_TRUE(out.flush(plenty));
  EXPECT_EQ(read_some(), "0\n1\n2\n3\n4\n5\n6\n7\n8\n");
}

TEST_F(log_writer_test, the_end_waits_for_what_is_queued) {
  { log_writer(writer_, 1'000, missing).write("last\n"); }
  EXPECT_EQ(read_some(), "last\n");
}

TEST_F(log_writer_test, nothing_waits_for_a_reader_that_is_asleep) {
  const auto begun = base::boot_now();
  {
    log_writer out(writer_, 2 * page, missing);
    for (int i = 0; i < 50; ++i) out.write(std::string(999, 'x') + "\n");
    EXPECT_FALSE(out.flush(1ms));
  }
  EXPECT_LT(base::boot_now() - begun, plenty);
}

TEST_F(log_writer_test, what_found_no_room_is_said_once_there_is_room) {
  const std::string line(999, 'x');
  log_writer out(writer_, 4'000, missing);
  // Four fill the pipe, one hangs and keeps its room, three wait.
  constexpr int lines = 20;
  int filled = 0;
  for (; filled < 4; ++filled) {
    out.write(line + "\n");
    ASSERT_TRUE(out.flush(plenty));
  }
  for (; filled < lines; ++filled) out.write(line + "\n");
  EXPECT_FALSE(out.flush(1ms));
  // The count goes out as soon as half of the room is free, between the last of the lines.
  const auto text = read_bytes(8 * (line.size() + 1) + missing(12).size());
  EXPECT_EQ(std::count(text.begin(), text.end(), 'x') / 999, 4 + 4);
  EXPECT_NE(text.find("\n" + missing(12)), std::string::npos) << text.substr(text.size() - 40);
  EXPECT_TRUE(out.flush(plenty));
  out.write("after\n");
  EXPECT_TRUE(out.flush(plenty));
  EXPECT_EQ(read_until("after\n").find("missing 12", 0), std::string::npos);
}

TEST_F(log_writer_test, a_reader_that_is_gone_is_counted_too) {
  const int gone = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(gone, 0);
  log_writer out(gone, 1'000, missing);
  out.write("a\n");
  out.write("b\n");
  ASSERT_TRUE(out.flush(plenty));
  ASSERT_EQ(::dup3(writer_, gone, O_CLOEXEC), gone);
  out.write("c\n");
  ASSERT_TRUE(out.flush(plenty));
  EXPECT_EQ(read_until("missing 2\n"), "c\nmissing 2\n");
}

TEST_F(log_writer_test, a_descriptor_that_does_not_block_loses_nothing) {
  ASSERT_EQ(::fcntl(writer_, F_SETFL, O_NONBLOCK), 0);
  log_writer out(writer_, 100'000, missing);
  for (int i = 0; i < 20; ++i) out.write(std::string(999, 'x') + "\n");
  EXPECT_FALSE(out.flush(1ms));
  out.write("end\n");
  const auto text = read_until("end\n");
  EXPECT_EQ(text.size(), 20U * 1'000U + 4U);
  EXPECT_TRUE(out.flush(plenty));
}

TEST_F(log_writer_test, a_line_that_was_cut_has_a_line_of_its_own) {
  ASSERT_EQ(::fcntl(writer_, F_SETFL, O_NONBLOCK), 0);
  log_writer out(writer_, 100'000, missing);
  // Longer than the pipe: a part of it goes out, and then its reader leaves.
  out.write(std::string(2 * page, 'x') + "\n");
  EXPECT_FALSE(out.flush(1ms));
  EXPECT_EQ(read_some().substr(0, 2), "xx");
  ::close(reader_);
  ASSERT_TRUE(out.flush(plenty));
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(::dup3(ends[1], writer_, O_CLOEXEC), writer_);
  reader_ = ends[0];
  out.write("whole\n");
  ASSERT_TRUE(out.flush(plenty));
  EXPECT_EQ(read_until("missing 1\n"), "\nwhole\nmissing 1\n");
  ::close(ends[1]);
}

TEST_F(log_writer_test, a_line_that_has_to_survive_is_in_the_pipe_when_the_call_returns) {
  log_writer out(writer_, 100'000, missing);
  out.write("before\n");
  const auto tries = tries_of_surely(out, "surely\n");
  ASSERT_GT(tries, 0U);
  pollfd filled{reader_, POLLIN, 0};
  ASSERT_EQ(::poll(&filled, 1, 0), 1);
  std::string wanted = "before\n";
  for (std::size_t i = 0; i < tries; ++i) wanted += "surely\n";
  EXPECT_EQ(read_bytes(wanted.size()), wanted);
}

TEST_F(log_writer_test, a_reader_that_sleeps_is_waited_for_once) {
  log_writer out(writer_, 100'000, missing);
  out.write(std::string(2 * page, 'x') + "\n");
  const auto begun = base::boot_now();
  EXPECT_FALSE(out.write_surely("one\n"));
  const auto waited = base::boot_now() - begun;
  EXPECT_GE(waited, log_writer::patience);
  // A busy machine may be late at some times; what waits is late each time.
  std::size_t more = 0;
  for (auto again = waited; again >= log_writer::patience; ++more) {
    ASSERT_LT(more, 5U) << "it is waited for each time";
    const auto begin = base::boot_now();
    EXPECT_FALSE(out.write_surely("two\n"));
    again = base::boot_now() - begin;
  }
  // It reads again.
  EXPECT_EQ(read_bytes(2U * page + 1 + 4 + 4 * more).size(), 2U * page + 1 + 4 + 4 * more);
  EXPECT_TRUE(out.flush(plenty));
  EXPECT_GT(tries_of_surely(out, "three\n"), 0U);
}

TEST_F(log_writer_test, what_is_dropped_or_lost_did_not_survive) {
  log_writer out(writer_, 100, missing);
  EXPECT_FALSE(out.write_surely(std::string(101, 'x')));
  ::close(reader_);
  EXPECT_FALSE(out.write_surely("nobody reads this\n"));
  reader_ = -1;
}

}  // namespace
}  // namespace onceguard::cli::log
