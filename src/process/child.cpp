#include "process/child.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

}  // namespace

boost::system::result<child, start_failure> child::start(const child_params& params) {
  if (params.words.empty()) return start_failure{ENOENT, "there is no command"};
  const auto& program = params.words.front();
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return failure(program, errno);
  }
  descriptor here(ends[0]);
  const descriptor there(ends[1]);
  const auto words = pointers_to(params.words);
  const auto variables = pointers_to(params.environment);
  guardian_task task{};
  task.words = words.data();
  task.variables = variables.data();
  task.folder = params.folder.empty() ? nullptr : params.folder.c_str();
  std::ranges::copy(params.streams, task.streams);
  task.control = there.get();
  task.new_group = params.new_group;
  ::sigemptyset(&task.mask);
  if (params.mask) task.mask = *params.mask;
  task.defaults = usual_signals.data();
  task.default_count = static_cast<int>(usual_signals.size());
  const pid_t guardian = ::fork();
  if (guardian < 0) return failure(program, errno);
  if (guardian == 0) run_guardian(task);
  child out(std::move(here), guardian);
  report first{};
  ssize_t size = 0;
  while ((size = ::recv(out.events(), &first, sizeof first, 0)) < 0 && errno == EINTR) {
  }
  if (size == static_cast<ssize_t>(sizeof first) && first.event == report::kind::started)
    return out;
  out.kill_all();
  return failure(program, size == static_cast<ssize_t>(sizeof first) ? first.value : ECHILD);
}

child::~child() { kill_all(); }

bool child::ended() {
  while (!ended_) {
    report got{};
    const auto size = ::recv(control_.get(), &got, sizeof got, MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return false;
    ended_ = true;  // also where the guardian is gone
    if (size == static_cast<ssize_t>(sizeof got) && got.event == report::kind::ended) {
      status_ = got.value;
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

void child::order(std::int32_t number) const noexcept {
  // A guardian that is gone has taken the command along.
  static_cast<void>(::send(control_.get(), &number, sizeof number, MSG_NOSIGNAL | MSG_DONTWAIT));
}

void child::signal(int number) const noexcept {
  if (number > 0) order(number);
}

void child::kill_all() noexcept { finish(order_kill); }
void child::leave() noexcept { finish(order_leave); }

void child::finish(std::int32_t number) noexcept {
  if (guardian_ <= 0 || !control_.is_open()) return;
  // Unlike a signal, this order must arrive, or the guardian would live on.
  while (::send(control_.get(), &number, sizeof number, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
  while (::waitpid(guardian_, nullptr, 0) < 0 && errno == EINTR) {
  }
  guardian_ = -1;
  static_cast<void>(ended());  // its last words
  ended_ = true;
  control_.close();
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
