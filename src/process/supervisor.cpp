#include "process/supervisor.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "base/number_in.hpp"
#include "process/own_variable.hpp"

namespace onceguard::process {
namespace {

constexpr timeval patience{1, 0};

/// False, with errno: it could not be sent.
bool send_to(const std::string& name, const std::string& text) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // unix(7): an abstract name begins with a NUL and ends with the address, a path with a NUL.
  const bool abstract = name.front() == '@';
  if (name.size() + (abstract ? 0 : 1) > sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::ranges::copy(name, address.sun_path);
  if (abstract) address.sun_path[0] = '\0';
  const auto size = offsetof(sockaddr_un, sun_path) + name.size() + (abstract ? 0 : 1);
  const base::descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return false;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return ::sendto(socket.get(), text.data(), text.size(), MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size)) >= 0;
}

/// A status is one line.
std::string status_line(std::string_view text) {
  std::string out = "STATUS=" + std::string(text);
  std::ranges::replace(out, '\n', ' ');
  return out;
}

}  // namespace

supervisor supervisor::of_environment() {
  supervisor out;
  const auto name = take_own_variable("NOTIFY_SOCKET");
  if (name.starts_with('/') || name.starts_with('@')) out.socket_ = name;
  const auto period = base::number_in<std::int64_t>(take_own_variable("WATCHDOG_USEC"), 1);
  const auto meant = take_own_variable("WATCHDOG_PID");
  if (period && (meant.empty() || base::number_in<pid_t>(meant) == ::getpid())) {
    out.alive_interval_ = std::chrono::microseconds(*period);
  }
  return out;
}

void supervisor::say(const std::string& variables) const {
  if (!listens() || send_to(socket_, variables)) return;
  base::log(base::event::manager_unreachable, {{"why", std::strerror(errno)}});
}

void supervisor::say_ready(std::string_view status) const {
  say("READY=1\n" + status_line(status));
}

void supervisor::say_reloading() const {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const auto microseconds = static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
  say("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds));
}

void supervisor::say_stopping(std::string_view status) const {
  say("STOPPING=1\n" + status_line(status));
}

void supervisor::say_status(std::string_view status) const { say(status_line(status)); }

void supervisor::say_alive() const { say("WATCHDOG=1"); }

void supervisor::say_main_process(pid_t successor) const {
  say("MAINPID=" + std::to_string(successor));
}

std::vector<std::string> supervisor::variables() const {
  std::vector<std::string> out;
  if (listens()) out.push_back("NOTIFY_SOCKET=" + socket_);
  if (alive_interval_.count() > 0) {
    out.push_back("WATCHDOG_USEC=" + std::to_string(alive_interval_.count()));
    out.emplace_back("WATCHDOG_PID=");
  }
  return out;
}

}  // namespace onceguard::process
