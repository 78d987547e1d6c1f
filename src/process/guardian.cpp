// Only what POSIX calls async-signal-safe, and system calls, may be used here.
#include "process/guardian.hpp"

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace onceguard::process {
namespace {

/// A process that may not be killed (of another user) is left alone after as many rounds.
constexpr int most_vain_rounds = 1'000;

void send_report(int control, report::kind event, std::int32_t value) noexcept {
  const report out{event, value};
  // Nobody there: the end of the socket shows that, too.
  static_cast<void>(::send(control, &out, sizeof out, MSG_NOSIGNAL));
}

/// In the process of the command: does not return.
[[noreturn]] void become_command(const guardian_task& task, pid_t guardian, int failure) noexcept {
  // A guardian that is killed takes the command along.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != guardian) ::_exit(127);
  if (task.new_group) ::setpgid(0, 0);
  // First out of the way of the numbers that they replace.
  int streams[4];
  for (int i = 0; i < 4; ++i) {
    streams[i] = task.streams[i] < 0 ? -1 : ::fcntl(task.streams[i], F_DUPFD_CLOEXEC, 10);
  }
  for (int i = 0; i < 4; ++i) {
    if (streams[i] >= 0) ::dup2(streams[i], i);
  }
  for (int i = 0; i < task.default_count; ++i) ::signal(task.defaults[i], SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &task.mask, nullptr);
  if (task.folder == nullptr || ::chdir(task.folder) == 0) {
    ::execvpe(task.words[0], task.words, task.variables);
  }
  const int why = errno;
  static_cast<void>(::write(failure, &why, sizeof why));
  ::_exit(127);
}

/// Kills each child once. False: their list can't be read.
bool kill_children() noexcept {
  char name[64] = "/proc/self/task/";
  // The list belongs to a thread; the guardian has one.
  char digits[16];
  int count = 0;
  for (auto id = static_cast<unsigned>(::syscall(SYS_gettid)); id != 0; id /= 10) {
    digits[count++] = static_cast<char>('0' + id % 10);
  }
  char* end = name + sizeof "/proc/self/task/" - 1;
  while (count > 0) *end++ = digits[--count];
  for (const char* rest = "/children"; *rest != '\0';) *end++ = *rest++;
  *end = '\0';
  const int list = ::open(name, O_RDONLY | O_CLOEXEC);
  if (list < 0) return false;
  pid_t child = 0;
  char text[512];
  for (ssize_t size = 0; (size = ::read(list, text, sizeof text)) > 0;) {
    for (ssize_t i = 0; i < size; ++i) {
      if (text[i] >= '0' && text[i] <= '9') {
        child = child * 10 + (text[i] - '0');
      } else if (child != 0) {
        ::kill(child, SIGKILL);
        child = 0;
      }
    }
  }
  if (child != 0) ::kill(child, SIGKILL);
  ::close(list);
  return true;
}

/// Until no child is left: the children of a killed one become the guardian's.
void kill_all(pid_t command, bool has_group) noexcept {
  for (int vain = 0; vain < most_vain_rounds; ++vain) {
    const bool listed = kill_children();
    if (!listed && command > 0) {
      if (has_group) ::kill(-command, SIGKILL);
      ::kill(command, SIGKILL);
    }
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
      vain = 0;
      if (ended == command) command = 0;
    }
    if (ended < 0 && errno == ECHILD) return;
    if (!listed && command == 0) return;
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

/// No descriptor of this process may live on in the guardian, whatever it is. The control socket
/// becomes the number 0.
void keep_only(int control) noexcept {
  ::dup2(control, 0);
  if (::syscall(SYS_close_range, 1U, ~0U, 0U) == 0) return;
  // A kernel before 5.9.
  const auto most = ::sysconf(_SC_OPEN_MAX);
  for (int i = 1; i < most; ++i) ::close(i);
}

/// Starts the command. Its process id; 0: it did not start.
pid_t start(const guardian_task& task) noexcept {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    send_report(task.control, report::kind::failed, errno);
    return 0;
  }
  const pid_t guardian = ::getpid();
  // The guardian is a copy of a process that may be large, and this copy ends at once.
  const pid_t made = ::vfork();
  if (made == 0) become_command(task, guardian, ends[1]);
  const int forked = errno;
  ::close(ends[1]);
  int why = 0;
  if (made < 0) {
    why = forked;
  } else {
    ssize_t size = 0;
    while ((size = ::read(ends[0], &why, sizeof why)) < 0 && errno == EINTR) {
    }
    if (size <= 0) why = 0;  // the exec closed it
  }
  ::close(ends[0]);
  if (why == 0) {
    send_report(task.control, report::kind::started, made);
    return made;
  }
  if (made > 0) ::waitpid(made, nullptr, 0);
  send_report(task.control, report::kind::failed, why);
  return 0;
}

/// Takes the ended children. True: the command was one of them.
bool reap(pid_t command, int control) noexcept {
  bool ended = false;
  int status = 0;
  for (pid_t child = 0; (child = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (child != command) continue;
    ended = true;
    send_report(control, report::kind::ended, status);
  }
  return ended;
}

}  // namespace

void run_guardian(const guardian_task& task) noexcept {
  // What a terminal or an operator sends to a group of processes is not for the guardian.
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::signal(SIGCHLD, SIG_DFL);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "onceguard-child");
  pid_t command = start(task);
  if (command == 0) ::_exit(1);
  keep_only(task.control);
  sigset_t child_ended;
  ::sigemptyset(&child_ended);
  ::sigaddset(&child_ended, SIGCHLD);
  pollfd waiting[2] = {{0, POLLIN, 0}, {::signalfd(-1, &child_ended, SFD_CLOEXEC), POLLIN, 0}};
  // A child may have ended before the descriptor was made.
  if (reap(command, 0)) command = 0;
  while (true) {
    if (::poll(waiting, 2, waiting[1].fd < 0 ? 50 : -1) < 0 && errno != EINTR) break;
    if ((waiting[1].revents & POLLIN) != 0) {
      signalfd_siginfo taken;
      static_cast<void>(::read(waiting[1].fd, &taken, sizeof taken));
    }
    if (reap(command, 0)) command = 0;
    if (waiting[0].revents == 0) continue;
    std::int32_t order = 0;
    const auto size = ::recv(0, &order, sizeof order, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size != static_cast<ssize_t>(sizeof order)) break;  // the other end is gone
    if (order == order_leave) ::_exit(0);
    if (order < 0) break;
    if (command > 0) ::kill(task.new_group ? -command : command, order);
  }
  kill_all(command, task.new_group);
  ::_exit(0);
}

}  // namespace onceguard::process
