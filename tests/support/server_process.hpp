// Programs that tests start: run to their end, or kept until they are stopped. Where the tests run
// as root, as a user who is not, since PostgreSQL refuses root.
#pragma once
#include <cstdlib>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace onceguard::testing {

/// Who a server runs as.
struct server_user {
  uid_t user = ::geteuid();
  gid_t group = ::getegid();

  /// Oneself, or the user `postgres` where oneself is root.
  static server_user find() {
    server_user out;
    if (out.user != 0) return out;
    const passwd* found = ::getpwnam("postgres");
    if (found == nullptr) throw std::runtime_error("no user postgres to run a server as");
    return {found->pw_uid, found->pw_gid};
  }
};

/// Begins a program with its output in `log`; it ends with this process.
inline pid_t begin_program(const server_user& as, const std::vector<std::string>& words,
                           const std::string& log) {
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child > 0) return child;
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  const int number = ::open("/dev/null", O_RDONLY);
  if (out < 0 || number < 0) ::_exit(126);
  ::dup2(number, 0);
  ::dup2(out, 1);
  ::dup2(out, 2);
  ::setpgid(0, 0);
  if (as.user != ::geteuid()) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(as.group) != 0 || ::setuid(as.user) != 0) {
      ::_exit(126);
    }
  }
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
  if (::getppid() != parent) ::_exit(126);
  ::unsetenv("LC_ALL");
  ::execv(arguments.front(), arguments.data());
  ::_exit(127);
}

/// Waits for its end: its exit code, or 128 and its signal.
inline int wait_for_end(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error("waitpid failed");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Throws where it does not end well.
inline void run_program(const server_user& as, const std::vector<std::string>& words,
                        const std::string& log) {
  const int code = wait_for_end(begin_program(as, words, log));
  if (code != 0) {
    throw std::runtime_error(words.front() + " failed with " + std::to_string(code) + ": see " +
                             log);
  }
}

}  // namespace onceguard::testing
