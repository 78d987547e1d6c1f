// The process that is to take this one's place: what it has, and why it could not be started.
#include "process/successor.hpp"

#include <csignal>
#include <fstream>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/descriptor.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::process {
namespace {

using ::testing::HasSubstr;

class process_successor : public ::testing::Test {
 protected:
  process_successor() { ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }
  ~process_successor() override { ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0); }

  static int end_of(pid_t process) {
    int status = 0;
    EXPECT_EQ(::waitpid(process, &status, 0), process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  testing::temporary_folder folder_;
};

TEST_F(process_successor, has_the_sockets_their_names_and_its_number) {
  const base::descriptor listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto file = folder_.path() / "seen";
  successor_params params;
  params.words = {"/bin/sh", "-c",
                  "[ -S /proc/$$/fd/3 ] && [ ! -e /proc/$$/fd/4 ] && [ ! -e /proc/$$/fd/5 ] && "
                  "[ \"$WATCHDOG_PID\" = $$ ] && "
                  "echo $LISTEN_PID $LISTEN_FDS $LISTEN_FDNAMES > " +
                      file.string()};
  params.variables = {"WATCHDOG_PID="};
  params.sockets = {{"gateway", listening.get()}};
  const auto started = start_successor(params);
  ASSERT_TRUE(started) << started.error().detail;
  EXPECT_EQ(end_of(*started), 0);
  std::string text;
  std::getline(std::ifstream(file), text);
  EXPECT_EQ(text, std::to_string(*started) + " 1 gateway");
}

TEST_F(process_successor, that_is_no_program_is_an_error_with_its_reason) {
  successor_params params;
  params.words = {(folder_.path() / "nothing").string()};
  auto started = start_successor(params);
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().detail, HasSubstr("nothing: No such file or directory"));
  params.words = {"/etc/passwd"};
  started = start_successor(params);
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().detail, HasSubstr("/etc/passwd: Permission denied"));
}

}  // namespace
}  // namespace onceguard::process
