#include "process/channel.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <string>

namespace onceguard::process {
namespace {

result<std::array<base::descriptor, 2>> make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return channel_refusal("a pipe can't be made");
  return std::array<base::descriptor, 2>{base::descriptor(ends[0]), base::descriptor(ends[1])};
}

}  // namespace

error channel_refusal(const char* action) {
  return {errc::invalid_argument, std::string(action) + ": " + std::strerror(errno), effect::none};
}

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

}  // namespace onceguard::process
