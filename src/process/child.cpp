#include "process/child.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/control_group.hpp"
#include "process/guardian.hpp"

namespace onceguard::process {
namespace {

/// Programs ignore or handle these for themselves: a command gets them as from a shell.
constexpr std::array<int, 5> usual_signals{SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2, SIGTTOU};

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const auto& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

start_failure failure(const std::string& program, int number) {
  return {number, program + " can't be started: " + std::strerror(number)};
}

/// Of a guardian whose last words were these: a command that did not start, as far as it knows.
start_failure failure_after(const std::string& program, const report& last) {
  const auto prefix = program + " can't be started: ";
  switch (last.event) {
    case report::kind::failed:
      return failure(program, last.value);
    case report::kind::lost:
      return {EAGAIN, prefix + "signal " + std::to_string(last.value) +
                          " ended its process before it began"};
    case report::kind::beginning:
      return {ECHILD, program + " was ended together with its guardian, and may have begun", true};
    default:
      return {EAGAIN, prefix + "its guardian was killed before it began"};
  }
}

std::int64_t nanoseconds_of(time_point instant) noexcept {
  // 0 disarms a timer (timerfd_settime(2)): no limit.
  return instant == time_point::max()
             ? 0
             : std::max<std::int64_t>(1, instant.time_since_epoch().count());
}

time_limit limit_of(const run_limit& until) noexcept {
  // Without a warning, SIGTERM comes just before the end.
  return {nanoseconds_of(std::min(until.warning, until.end)), nanoseconds_of(until.end)};
}

void send_order(int control, const order& given, int flags) noexcept {
  // A guardian that is gone has taken the command along.
  while (::send(control, &given, sizeof given, MSG_NOSIGNAL | flags) < 0 && errno == EINTR) {
  }
}

// Guardians of what was left running, which this process has to take when they end.
std::mutex left_mutex;
std::vector<pid_t> left_guardians;

void take_left_guardians(pid_t added) {
  const std::lock_guard lock(left_mutex);
  if (added > 0) left_guardians.push_back(added);
  std::erase_if(left_guardians, [](pid_t one) { return ::waitpid(one, nullptr, WNOHANG) != 0; });
}

guardian_task task_of(const child_params& params, int control) noexcept {
  guardian_task task{};
  task.folder = params.folder.empty() ? nullptr : params.folder.c_str();
  std::ranges::copy(params.streams, task.streams);
  task.report_end = params.report_end;
  task.report_number = params.report_number;
  task.control = control;
  task.terminal = task.caller_terminal = -1;
  if (params.shown_on != nullptr) {
    task.terminal = params.shown_on->there();
    task.caller_terminal = params.shown_on->callers();
    task.settings = params.shown_on->callers_settings();
  }
  task.foreground = params.foreground;
  for (std::size_t i = 0; i < std::size(task.held); ++i) {
    task.held[i] = i < params.held.size() ? params.held[i] : -1;
  }
  task.limit = limit_of(params.limit);
  ::sigemptyset(&task.mask);
  if (params.mask) task.mask = *params.mask;
  task.defaults = usual_signals.data();
  task.default_count = static_cast<int>(usual_signals.size());
  return task;
}

}  // namespace

boost::system::result<child, start_failure> child::start(const child_params& params) {
  if (params.words.empty()) return start_failure{ENOENT, "there is no command"};
  take_left_guardians(0);
  const auto& program = params.words.front();
  std::array<int, 2> ends{-1, -1};
  // unix(7): keeps the borders of messages and, unlike datagrams, shows that the other end is gone.
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return failure(program, errno);
  }
  base::descriptor here(ends[0]);
  base::descriptor there(ends[1]);
  const auto words = pointers_to(params.words);
  const auto variables = pointers_to(params.environment);
  auto task = task_of(params, there.get());
  auto group = make_control_group();
  if (group) {
    task.group = group->folder.c_str();
    task.group_open = group->open.get();
  }
  task.words = words.data();
  task.variables = variables.data();
  // POSIX, fork(): in the child of a process with threads only what is async-signal-safe may be
  // called. So all that allocates comes before.
  const pid_t guardian = ::fork();
  const int forked = errno;
  if (guardian == 0) run_guardian(task);
  if (guardian < 0 && group) end_control_group(task.group);
  if (guardian < 0) return failure(program, forked);
  there.close();  // or the end of a guardian that is killed would never be seen
  child out(std::move(here), guardian);
  if (group) out.group_ = std::move(group->folder);
  report last{};
  while (true) {
    report got{};
    const auto size = ::recv(out.events(), &got, sizeof got, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size != static_cast<ssize_t>(sizeof got)) break;  // the guardian is gone
    last = got;
    if (got.event == report::kind::started) return out;
    if (got.event != report::kind::beginning) break;
  }
  out.kill_all();
  return failure_after(program, last);
}

child::~child() { kill_all(); }

bool child::ended() {
  while (!ended_) {
    report got{};
    const auto size = ::recv(control_.get(), &got, sizeof got, MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return false;
    if (size != static_cast<ssize_t>(sizeof got)) {  // the guardian is gone
      ended_ = true;
      end_group();
    } else if (got.event == report::kind::ended) {
      ended_ = true;
      status_ = got.value;
    } else if (got.event == report::kind::stopped) {
      stopped_by_ = got.value;
    } else if (got.event == report::kind::time_over) {
      time_is_over_ = true;
    }
  }
  return true;
}

bool child::wait(time_point until) {
  while (!ended()) {
    const int left = poll_time(until);
    if (left == 0) return false;
    pollfd waiting{control_.get(), POLLIN, 0};
    ::poll(&waiting, 1, left);
  }
  return true;
}

void child::signal(int number) const noexcept {
  if (number > 0) send_order(control_.get(), {order::kind::signal, number, {}}, MSG_DONTWAIT);
}

void child::limit(const run_limit& until) const noexcept {
  send_order(control_.get(), {order::kind::limit, 0, limit_of(until)}, MSG_DONTWAIT);
}

void child::to_foreground() const noexcept {
  send_order(control_.get(), {order::kind::foreground, 0, {}}, MSG_DONTWAIT);
}

void child::kill_all() noexcept { finish(true); }
void child::leave() noexcept { finish(false); }

void child::finish(bool kill) noexcept {
  if (guardian_ <= 0 || !control_.is_open()) return;
  if (!kill) group_.clear();  // the guardian removes it when nothing runs in it
  // Unlike a signal, this order must arrive, or the guardian would live on.
  send_order(control_.get(), {kill ? order::kind::kill : order::kind::leave, 0, {}}, 0);
  if (kill) {
    while (::waitpid(guardian_, nullptr, 0) < 0 && errno == EINTR) {
    }
  } else {
    take_left_guardians(guardian_);
  }
  guardian_ = -1;
  static_cast<void>(ended());  // its last words
  ended_ = true;
  end_group();
  control_.close();
}

void child::end_group() noexcept {
  if (!group_.empty()) end_control_group(group_.c_str());
  group_.clear();
}

int free_number() noexcept {
  int number = 3;
  for (int flags = 0; (flags = ::fcntl(number, F_GETFD)) >= 0 && (flags & FD_CLOEXEC) == 0;) {
    ++number;
  }
  return number;
}

std::vector<std::string> environment_behind(std::vector<std::string> given) {
  const auto added = given.size();
  const auto is_given = [&](std::string_view variable) {
    return std::any_of(
        given.begin(), given.begin() + static_cast<std::ptrdiff_t>(added),
        [&](const std::string& one) {
          return variable.starts_with(std::string_view(one).substr(0, one.find('=') + 1));
        });
  };
  for (char** one = environ; *one != nullptr; ++one) {
    if (!is_given(*one)) given.emplace_back(*one);
  }
  return given;
}

}  // namespace onceguard::process
