// What a process that is shut in can't do, and what it still can. Each test shuts a child in.
#include "sandbox/sandbox.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sched.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"

namespace onceguard::sandbox {
namespace {

namespace fs = std::filesystem;

class sandbox_limits : public ::testing::Test {
 protected:
  sandbox_limits() {
    fs::create_directory(allowed_);
    fs::create_directory(other_);
    std::ofstream(other_ / "there") << "text";
  }

  /// What `tried` gives in a process that is shut in. 250: it could not be shut in.
  int in_limits(const std::function<int()>& tried) const {
    const pid_t child = ::fork();
    if (child == 0) {
      const bool limited = limit_files({allowed_.string(), "/dev/null"}) && limit_calls();
      ::_exit(limited ? tried() : 250);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// 0, or the errno of a file that is opened for writing.
  static int write_to(const fs::path& file, int flags = O_CREAT) {
    const int opened = ::open(file.c_str(), O_WRONLY | O_CLOEXEC | flags, 0600);
    return opened < 0 ? errno : 0;
  }

  static int errno_of(long result) { return result < 0 ? errno : 0; }

  testing::temporary_folder folder_;
  const fs::path allowed_ = folder_.path() / "allowed";
  const fs::path other_ = folder_.path() / "other";
};

TEST_F(sandbox_limits, files_are_written_in_the_folders_alone) {
  EXPECT_EQ(in_limits([this] { return write_to(allowed_ / "new"); }), 0);
  EXPECT_EQ(in_limits([] { return write_to("/dev/null", 0); }), 0);
  EXPECT_EQ(in_limits([this] { return write_to(other_ / "new"); }), EACCES);
  EXPECT_EQ(in_limits([this] { return write_to(other_ / "there"); }), EACCES);
  EXPECT_EQ(in_limits([this] { return errno_of(::unlink((other_ / "there").c_str())); }), EACCES);
  EXPECT_EQ(in_limits([this] { return errno_of(::mkdir((other_ / "d").c_str(), 0700)); }), EACCES);
  EXPECT_EQ(in_limits([this] {
              return errno_of(::rename((allowed_ / "new").c_str(), (other_ / "moved").c_str()));
            }),
            EACCES);
}

TEST_F(sandbox_limits, files_are_read_as_before) {
  EXPECT_EQ(in_limits([this] {
              std::string text;
              std::ifstream(other_ / "there") >> text;
              return text == "text" ? 0 : 1;
            }),
            0);
}

TEST_F(sandbox_limits, no_program_runs) {
  const auto run = [](const fs::path& program) {
    char* const words[]{nullptr};
    ::execv(program.c_str(), words);
    return errno;
  };
  EXPECT_EQ(in_limits([&] { return run("/bin/true"); }), EPERM);
  // Landlock alone refuses, too, also where something may be written.
  fs::copy_file("/bin/true", allowed_ / "true");
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(limit_files({allowed_.string()}) ? run(allowed_ / "true") : 250);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), EACCES);
}

TEST_F(sandbox_limits, no_process_is_traced_and_no_namespace_made) {
  EXPECT_EQ(in_limits([] { return errno_of(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)); }),
            EPERM);
  EXPECT_EQ(in_limits([] { return errno_of(::unshare(CLONE_NEWUSER)); }), EPERM);
  EXPECT_EQ(in_limits([this] {
              return errno_of(::mount("none", allowed_.c_str(), "tmpfs", 0, nullptr));
            }),
            EPERM);
  const auto made = [](void*) { return 0; };
  EXPECT_EQ(
      in_limits([&] {
        alignas(16) static char stack[65'536];
        return errno_of(::clone(made, stack + sizeof stack, CLONE_NEWUSER | SIGCHLD, nullptr));
      }),
      EPERM);
}

TEST_F(sandbox_limits, hold_for_threads_before_and_after) {
  // Seccomp counts for all threads, Landlock for those that are started later.
  const pid_t child = ::fork();
  if (child == 0) {
    std::atomic<bool> go{false};
    int earlier = 0;
    int later = 0;
    std::thread first([&] {
      go.wait(false);
      earlier = errno_of(::unshare(CLONE_NEWUSER));
    });
    const bool limited = limit_files({allowed_.string()}) && limit_calls();
    go = true;
    go.notify_all();
    first.join();
    std::thread([&] { later = write_to(other_ / "new"); }).join();
    ::_exit(limited && earlier == EPERM && later == EACCES ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(sandbox_limits, are_known_to_the_process) {
  EXPECT_EQ(in_limits([] { return in_force().files && in_force().calls ? 0 : 1; }), 0);
  EXPECT_FALSE(in_force().files);
  EXPECT_FALSE(in_force().calls);
}

TEST_F(sandbox_limits, a_folder_that_is_not_there_is_an_error_and_nothing_is_limited) {
  const auto limited = limit_files({(folder_.path() / "nothing").string()});
  ASSERT_FALSE(limited);
  EXPECT_NE(limited.error().detail.find("nothing: No such file"), std::string::npos);
  EXPECT_EQ(write_to(other_ / "new"), 0);
}

}  // namespace
}  // namespace onceguard::sandbox
