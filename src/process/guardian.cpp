// Only what POSIX calls async-signal-safe, and system calls, may be used here.
#include "process/guardian.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/control_group.hpp"

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
  // It may have ended before, and then no signal comes (prctl(2)).
  if (::getppid() != guardian) ::_exit(127);
  // Before the exec, for which the guardian waits: whoever signals the group later finds it.
  ::setpgid(0, 0);
  // Of a group in the background this would stop the caller, if SIGTTOU were not blocked, as all
  // signals are (tcsetpgrp(3)).
  if (task.terminal >= 0 && task.foreground) ::tcsetpgrp(task.terminal, ::getpid());
  // First out of the way of the numbers that they replace.
  const int above = task.report_number < 10 ? 10 : task.report_number + 1;
  const int report = ::fcntl(failure, F_DUPFD_CLOEXEC, above);
  int streams[3];
  for (int i = 0; i < 3; ++i) {
    streams[i] = task.streams[i] < 0 ? -1 : ::fcntl(task.streams[i], F_DUPFD_CLOEXEC, above);
  }
  const int report_end =
      task.report_end < 0 ? -1 : ::fcntl(task.report_end, F_DUPFD_CLOEXEC, above);
  bool has_all = report >= 0 && (task.report_end < 0 || report_end >= 0);
  for (int i = 0; i < 3; ++i) has_all = has_all && (task.streams[i] < 0 || streams[i] >= 0);
  if (!has_all) {
    const int why = EMFILE;
    static_cast<void>(::write(failure, &why, sizeof why));
    ::_exit(127);
  }
  for (int i = 0; i < 3; ++i) {
    if (streams[i] >= 0) ::dup2(streams[i], i);
  }
  if (report_end >= 0) ::dup2(report_end, task.report_number);
  for (int i = 0; i < task.default_count; ++i) ::signal(task.defaults[i], SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &task.mask, nullptr);
  if (task.folder == nullptr || ::chdir(task.folder) == 0) {
    ::execvpe(task.words[0], task.words, task.variables);
  }
  const int why = errno;
  static_cast<void>(::write(report, &why, sizeof why));
  ::_exit(127);
}

/// Writes the digits there, and returns their end.
char* append_number(char* end, unsigned number) noexcept {
  char digits[16];
  int count = 0;
  for (; number != 0; number /= 10) digits[count++] = static_cast<char>('0' + number % 10);
  while (count > 0) *end++ = digits[--count];
  return end;
}

/// Kills each child once. False: their list can't be read.
bool kill_children() noexcept {
  char name[64] = "/proc/self/task/";
  // The list belongs to a thread; the guardian has one.
  const auto thread = static_cast<unsigned>(::syscall(SYS_gettid));
  char* const end = append_number(name + sizeof "/proc/self/task/" - 1, thread);
  std::strcpy(end, "/children");
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
void kill_all(const guardian_task& task, pid_t command) noexcept {
  // First all at once: who makes processes faster than they are listed, or serves another user.
  if (task.group != nullptr) end_control_group(task.group);
  for (int vain = 0; vain < most_vain_rounds; ++vain) {
    const bool listed = kill_children();
    if (!listed && command > 0) {
      ::kill(-command, SIGKILL);
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

// Of the descriptors of this process the guardian keeps these alone, under these numbers.
enum kept : int { kept_control, kept_held, kept_held_2, kept_held_3, kept_terminal, kept_count };

/// No other descriptor of this process may live on in the guardian, whatever it is.
void keep_only(const guardian_task& task) noexcept {
  const int wanted[kept_count] = {task.control, task.held[0], task.held[1], task.held[2],
                                  task.caller_terminal};
  int high[kept_count];
  for (int i = 0; i < kept_count; ++i) {
    high[i] = wanted[i] < 0 ? -1 : ::fcntl(wanted[i], F_DUPFD_CLOEXEC, kept_count);
  }
  for (int i = 0; i < kept_count; ++i) {
    if (high[i] < 0 || ::dup2(high[i], i) < 0) ::close(i);
  }
  if (::syscall(SYS_close_range, static_cast<unsigned>(kept_count), ~0U, 0U) == 0) return;
  // A kernel before 5.9.
  const auto most = ::sysconf(_SC_OPEN_MAX);
  for (int i = kept_count; i < most; ++i) ::close(i);
}

/// As fork(), but into the task's control group, without the kernel's lock on all groups that
/// a move would take. Negative: not here.
pid_t fork_into_group(const guardian_task& task) noexcept {
  if (task.group == nullptr) return -1;
  clone_args wanted{};
  wanted.flags = CLONE_INTO_CGROUP;
  wanted.exit_signal = SIGCHLD;
  wanted.cgroup = static_cast<std::uint64_t>(task.group_open);
  return static_cast<pid_t>(::syscall(SYS_clone3, &wanted, sizeof wanted));
}

/// Whether the process of the command has not become its program. An exec clears the flag before
/// it closes the pipe whose end was seen; a process that ends before any exec keeps it, also until
/// its parent takes it. False where that can't be read.
bool has_no_program(pid_t made) noexcept {
  constexpr unsigned forked_without_exec = 0x40;  // PF_FORKNOEXEC (proc_pid_stat(5))
  char name[64] = "/proc/";
  char* const end = append_number(name + sizeof "/proc/" - 1, static_cast<unsigned>(made));
  std::strcpy(end, "/stat");
  const int file = ::open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[512];
  const auto size = ::read(file, text, sizeof text - 1);
  ::close(file);
  text[size > 0 ? size : 0] = '\0';
  // Its name stands in brackets and may have any characters in it.
  const char* field = std::strrchr(text, ')');
  constexpr int from_name_to_flags = 7;
  for (int i = 0; field != nullptr && i < from_name_to_flags; ++i) {
    field = std::strchr(field + 1, ' ');
  }
  if (field == nullptr) return false;
  unsigned flags = 0;
  while (*++field >= '0' && *field <= '9') flags = flags * 10 + static_cast<unsigned>(*field - '0');
  return (flags & forked_without_exec) != 0;
}

/// Starts the command. Its process id; 0: it did not start.
pid_t start(const guardian_task& task) noexcept {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    send_report(task.control, report::kind::failed, errno);
    return 0;
  }
  send_report(task.control, report::kind::beginning, 0);
  const pid_t guardian = ::getpid();
  // The guardian is a copy of a process that may be large, and this copy ends at once.
  pid_t made = fork_into_group(task);
  if (made < 0) made = ::vfork();
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
    if (size <= 0) why = 0;  // the exec closed it, or the end of the process
  }
  ::close(ends[0]);
  if (why == 0 && has_no_program(made)) {
    int status = 0;
    ::waitpid(made, &status, 0);
    send_report(task.control, report::kind::lost, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return 0;
  }
  if (why == 0) {
    send_report(task.control, report::kind::started, made);
    return made;
  }
  if (made > 0) ::waitpid(made, nullptr, 0);
  send_report(task.control, report::kind::failed, why);
  return 0;
}

/// Takes what became of the children. True: the command has ended.
bool reap(pid_t command, int control) noexcept {
  bool ended = false;
  int status = 0;
  for (pid_t child = 0; (child = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
    if (child != command) continue;
    if (WIFSTOPPED(status)) {
      send_report(control, report::kind::stopped, WSTOPSIG(status));
      continue;
    }
    ended = true;
    send_report(control, report::kind::ended, status);
  }
  return ended;
}

void set_timer(int timer, std::int64_t nanoseconds) noexcept {
  itimerspec when{};
  when.it_value = {nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  ::timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, nullptr);
}

/// Reads what those write that were left running, so that they do not end by it, until the last one
/// has closed its output or has ended.
[[noreturn]] void read_for_ever(const guardian_task& task) noexcept {
  static_cast<void>(::chdir("/"));
  pollfd waiting[held_count];
  for (int i = 0; i < held_count; ++i) {
    waiting[i] = {task.held[i] < 0 ? -1 : kept_held + i, POLLIN, 0};
  }
  static char dropped[4096];
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0 || waiting[2].fd >= 0) {
    if (::poll(waiting, held_count, -1) < 0) continue;
    for (auto& one : waiting) {
      if (one.revents == 0) continue;
      const auto size = ::read(one.fd, dropped, sizeof dropped);
      if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) one.fd = -1;
    }
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
  ::signal(SIGCHLD, SIG_IGN);  // nobody asks how they ended
  if (task.group != nullptr) outlive_control_group(task.group);
  ::_exit(0);
}

/// Watches a command that runs.
class watch {
 public:
  watch(const guardian_task& task, pid_t command) noexcept
      : task_(task), command_(command), limit_(task.limit) {
    sigset_t child_ended;
    ::sigemptyset(&child_ended);
    ::sigaddset(&child_ended, SIGCHLD);
    children_ = ::signalfd(-1, &child_ended, SFD_CLOEXEC);
    // Leases run out while the machine sleeps, too.
    timer_ = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    set_timer(timer_, limit_.warning);
  }

  /// Until the command may not go on.
  void run() noexcept {
    // A child may have ended before the descriptor was made.
    read_children();
    pollfd waiting[3] = {{kept_control, POLLIN, 0}, {children_, POLLIN, 0}, {timer_, POLLIN, 0}};
    while (true) {
      if (::poll(waiting, 3, children_ < 0 ? 50 : -1) < 0) {
        if (errno != EINTR) return;
        continue;
      }
      if ((waiting[1].revents & POLLIN) != 0) {
        signalfd_siginfo taken;
        static_cast<void>(::read(children_, &taken, sizeof taken));
      }
      read_children();
      if ((waiting[2].revents & POLLIN) != 0 && !warn()) return;
      if (waiting[0].revents != 0 && !follow()) return;
    }
  }

  [[nodiscard]] pid_t command() const noexcept { return command_; }

 private:
  void read_children() noexcept {
    if (reap(command_, kept_control)) command_ = 0;
  }

  void to_command(int number) const noexcept {
    if (command_ > 0) ::kill(-command_, number);
  }

  /// The time is over. False: entirely.
  bool warn() noexcept {
    std::uint64_t times = 0;
    if (::read(timer_, &times, sizeof times) < 0) return true;  // it was set anew
    if (warned_) return false;
    warned_ = true;
    to_command(SIGTERM);
    to_command(SIGCONT);  // a stopped process would not take the other
    send_report(kept_control, report::kind::time_over, 0);
    set_timer(timer_, limit_.end);
    return true;
  }

  /// Follows an order. False: the command may not go on.
  bool follow() noexcept {
    order got{};
    const auto size = ::recv(kept_control, &got, sizeof got, 0);
    if (size < 0 && errno == EINTR) return true;
    if (size != static_cast<ssize_t>(sizeof got)) {  // the other end is gone
      if (task_.caller_terminal >= 0) ::tcsetattr(kept_terminal, TCSANOW, &task_.settings);
      return false;
    }
    switch (got.type) {
      case order::kind::signal:
        to_command(got.number);
        return true;
      case order::kind::limit:
        limit_ = got.limit;
        set_timer(timer_, warned_ ? limit_.end : limit_.warning);
        return true;
      case order::kind::foreground:
        // The master's number is good for that, too.
        if (command_ > 0) ::tcsetpgrp(kept_held, command_);
        to_command(SIGCONT);
        return true;
      case order::kind::leave:
        ::close(kept_control);
        ::close(kept_terminal);
        read_for_ever(task_);
      case order::kind::kill:
        break;
    }
    return false;
  }

  const guardian_task& task_;
  pid_t command_;
  time_limit limit_;
  int children_ = -1;
  int timer_ = -1;
  bool warned_ = false;
};

}  // namespace

void run_guardian(const guardian_task& task) noexcept {
  // What a terminal or an operator sends to a group of processes is not for the guardian.
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::setsid();
  // Ignored, as it may have been inherited, it would let children end without a status (wait(2)).
  ::signal(SIGCHLD, SIG_DFL);
  // Whoever loses its parent below becomes a child of the guardian, where kill_all() finds it.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "onceguard-child");
  if (task.terminal >= 0) ::ioctl(task.terminal, TIOCSCTTY, 0);
  const pid_t command = start(task);
  if (command == 0) {
    if (task.group != nullptr) end_control_group(task.group);
    ::_exit(1);
  }
  keep_only(task);
  watch watching(task, command);
  watching.run();
  kill_all(task, watching.command());
  ::_exit(0);
}

}  // namespace onceguard::process
