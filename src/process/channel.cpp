#include "process/channel.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/ioctl.h>
#include <termios.h>

namespace onceguard::process {
namespace {

error channel_refusal(const char* action) {
  return {errc::invalid_argument, std::string(action) + ": " + std::strerror(errno), effect::none};
}

result<std::array<base::descriptor, 2>> make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return channel_refusal("a pipe can't be made");
  return std::array<base::descriptor, 2>{base::descriptor(ends[0]), base::descriptor(ends[1])};
}

}  // namespace

int poll_time(time_point until) noexcept {
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(until - base::boot_now());
  return static_cast<int>(std::clamp<std::int64_t>(rest.count(), 0, 1'000'000));
}

std::ptrdiff_t write_quietly(int pipe, std::string_view bytes) noexcept {
  // SIGPIPE of a write belongs to the thread that writes (signal(7)), and MSG_NOSIGNAL is for
  // sockets alone. So it is blocked and taken here, unless one was pending before: that is the
  // program's.
  sigset_t signal;
  sigset_t former;
  sigset_t pending;
  ::sigemptyset(&signal);
  ::sigaddset(&signal, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &signal, &former);
  ::sigpending(&pending);
  const auto written = ::write(pipe, bytes.data(), bytes.size());
  const int why = errno;
  if (written < 0 && why == EPIPE && ::sigismember(&pending, SIGPIPE) == 0) {
    const timespec at_once{};
    ::sigtimedwait(&signal, nullptr, &at_once);
  }
  ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
  errno = why;
  return written;
}

bool feed(base::descriptor& input, std::string_view& bytes, time_point until) {
  while (!bytes.empty()) {
    const auto written = write_quietly(input.get(), bytes);
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (written < 0 && errno != EAGAIN && errno != EINTR) break;  // nobody reads it any more
    pollfd waiting{input.get(), POLLOUT, 0};
    if (::poll(&waiting, 1, poll_time(until)) == 0) return false;
  }
  input.close();
  return true;
}

result<channel> make_output_pipe() {
  auto ends = make_pipe();
  if (!ends) return ends.error();
  return channel{std::move((*ends)[0]), std::move((*ends)[1])};
}

result<channel> make_input_pipe() {
  auto ends = make_pipe();
  if (!ends) return ends.error();
  // Of our end alone: programs take EAGAIN on their input for a fault.
  ::fcntl((*ends)[1].get(), F_SETFL, O_NONBLOCK);
  return channel{std::move((*ends)[1]), std::move((*ends)[0])};
}

result<channel> make_terminal(int model) {
  channel out{base::descriptor(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)), base::descriptor()};
  std::array<char, 128> name{};
  const bool made = out.here.is_open() && ::grantpt(out.here.get()) == 0 &&
                    ::unlockpt(out.here.get()) == 0 &&
                    ::ptsname_r(out.here.get(), name.data(), name.size()) == 0;
  if (made) out.there = base::descriptor(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!out.there.is_open()) return channel_refusal("a terminal can't be made");
  copy_terminal_size(model, out.here.get());
  return out;
}

result<channel> make_output_terminal(int model) {
  auto out = make_terminal(model);
  if (!out) return out;
  termios settings{};
  // The real terminal edits and translates; this one must not do so before.
  if (::tcgetattr(out->there.get(), &settings) == 0) {
    ::cfmakeraw(&settings);
    ::tcsetattr(out->there.get(), TCSANOW, &settings);
  }
  return out;
}

void copy_terminal_size(int terminal, int here) noexcept {
  winsize size{};
  if (::ioctl(terminal, TIOCGWINSZ, &size) == 0) ::ioctl(here, TIOCSWINSZ, &size);
}

}  // namespace onceguard::process
