// The process that starts this one's successor: what it passes on, and how long it lives.
#include "process/successor_starter.hpp"

#include <csignal>
#include <fstream>
#include <optional>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"

namespace onceguard::process {
namespace {

using ::testing::HasSubstr;

class process_successor_starter : public ::testing::Test {
 protected:
  process_successor_starter() { ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }
  ~process_successor_starter() override {
    while (::waitpid(-1, nullptr, 0) > 0) {  // a successor that could not run its program
    }
    ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  }

  static int end_of(pid_t process) {
    int status = 0;
    EXPECT_EQ(::waitpid(process, &status, 0), process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  testing::temporary_folder folder_;
  const base::descriptor first_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const base::descriptor second_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

TEST_F(process_successor_starter, passes_the_sockets_on_each_time) {
  const auto file = (folder_.path() / "seen").string();
  auto starter = successor_starter::begin({"/bin/sh", "-c",
                                           "[ -S /proc/$$/fd/3 ] && [ ! -e /proc/$$/fd/6 ] && "
                                           "echo $LISTEN_FDS $LISTEN_FDNAMES $MORE >> " +
                                               file},
                                          {"MORE=yes"});
  for (int round = 0; round < 2; ++round) {
    const auto one = starter.start({{"gateway", first_.get()}});
    ASSERT_TRUE(one) << one.error().detail;
    EXPECT_EQ(end_of(*one), 0);
    const auto two = starter.start({{"gateway", first_.get()}, {"admin", second_.get()}});
    ASSERT_TRUE(two) << two.error().detail;
    EXPECT_EQ(end_of(*two), 0);
  }
  std::ifstream lines(file);
  const std::string text{std::istreambuf_iterator<char>(lines), {}};
  EXPECT_EQ(text,
            "1 gateway yes\n2 gateway:admin yes\n"
            "1 gateway yes\n2 gateway:admin yes\n");
}

TEST_F(process_successor_starter, says_why_there_is_none) {
  const auto nothing = (folder_.path() / "nothing").string();
  auto starter = successor_starter::begin({nothing}, {});
  const auto started = starter.start({{"gateway", first_.get()}});
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().detail, HasSubstr("nothing: No such file or directory"));
}

TEST_F(process_successor_starter, that_is_gone_is_an_error) {
  const pid_t before = ::getpid();
  auto starter = successor_starter::begin({"/bin/true"}, {});
  std::ifstream children("/proc/self/task/" + std::to_string(before) + "/children");
  pid_t one = 0;
  ASSERT_TRUE(children >> one);
  ::kill(one, SIGKILL);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(one), &ended, WEXITED | WNOWAIT), 0);
  const auto started = starter.start({{"gateway", first_.get()}});
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().detail, HasSubstr("the starter"));
}

TEST_F(process_successor_starter, that_somebody_has_stopped_holds_nobody_up) {
  std::optional<successor_starter> starter(successor_starter::begin({"/bin/true"}, {}));
  std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  pid_t one = 0;
  ASSERT_TRUE(children >> one);
  ::kill(one, SIGSTOP);
  siginfo_t stopped{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(one), &stopped, WSTOPPED | WNOWAIT), 0);
  starter.reset();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST_F(process_successor_starter, keeps_nothing_of_this_process_open_and_ends_with_it) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const base::descriptor reading(ends[0]);
  base::descriptor writing(ends[1]);
  std::optional<successor_starter> starter(successor_starter::begin({"/bin/true"}, {}));
  writing.close();
  char byte = 0;
  EXPECT_EQ(::read(reading.get(), &byte, 1), 0);  // it has closed the other end, too
  starter.reset();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

}  // namespace
}  // namespace onceguard::process
