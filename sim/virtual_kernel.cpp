#include "virtual_kernel.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <ctime>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>

#include "base/random.hpp"

namespace onceguard::sim {
namespace {

constexpr nanoseconds second = 1'000 * millisecond;

thread_local virtual_kernel* running = nullptr;

timespec timespec_of(nanoseconds time) noexcept {
  timespec out{};
  out.tv_sec = static_cast<time_t>(time / second);
  out.tv_nsec = static_cast<long>(time % second);
  return out;
}

/// What an earlier simulation has left in the reserve of base::random_bytes must not be used.
void empty_random_reserve() {
  std::array<unsigned char, 1024> all{};
  base::random_bytes(all);
}

}  // namespace

virtual_kernel::virtual_kernel(std::uint64_t seed) : random_(seed) {
  running = this;
  empty_random_reserve();
  random_ = number_stream(seed);
}

virtual_kernel::~virtual_kernel() { running = nullptr; }

virtual_kernel* virtual_kernel::current() noexcept { return running; }

outside_simulation::outside_simulation() noexcept : inside_(std::exchange(running, nullptr)) {}

outside_simulation::~outside_simulation() { running = inside_; }

void virtual_kernel::fill(unsigned char* out, std::size_t size) noexcept {
  for (std::size_t i = 0; i < size; i += 8) {
    auto number = random_.next();
    for (auto k = i; k < std::min(i + 8, size); ++k, number >>= 8) {
      out[k] = static_cast<unsigned char>(number & 0xff);
    }
  }
}

int virtual_kernel::open_descriptor() {
  const auto free = std::find_if(descriptors_.begin(), descriptors_.end(),
                                 [](const open_file& each) { return !each.used; });
  const auto index = free - descriptors_.begin();
  if (free == descriptors_.end()) descriptors_.emplace_back();
  auto& made = descriptors_[static_cast<std::size_t>(index)];
  made = open_file{};
  made.used = true;
  made.machine = machine_;
  return first_ + static_cast<int>(index);
}

void virtual_kernel::close(int descriptor) noexcept {
  auto& closed = at(descriptor);
  if (closed.timer) closed.machine->timer_due = never;
  const auto peer = std::move(closed.peer);
  closed = open_file{};
  if (peer.end) peer.end();
}

void virtual_kernel::watch(int poller, int descriptor, std::uint64_t data) noexcept {
  if (!is_ours(descriptor)) return;
  auto& watched = at(descriptor);
  if (watched.timer) {
    at(poller).watched = descriptor;
    at(poller).data = data;
  } else if (watched.peer.end) {
    watched.poller = poller;
    watched.data = data;
    watched.changed = watched.ended || !watched.unread.empty();
  }
}

void virtual_kernel::forget(int descriptor) noexcept {
  if (is_ours(descriptor)) at(descriptor).poller = -1;
}

void virtual_kernel::set_timer(int descriptor, nanoseconds from_now) noexcept {
  auto& timer = at(descriptor);
  timer.timer = true;
  timer.machine->timer_due = from_now == never ? never : now_ + from_now;
}

bool virtual_kernel::expired(int poller, std::uint64_t& data) noexcept {
  const auto& polled = at(poller);
  if (polled.watched < 0 || polled.machine->timer_due > now_) return false;
  polled.machine->timer_due = never;  // Asio sets the next time
  data = polled.data;
  return true;
}

bool virtual_kernel::readable(int poller, std::uint64_t& data) noexcept {
  const auto found = std::ranges::find_if(descriptors_, [poller](const open_file& each) {
    return each.changed && each.poller == poller;
  });
  if (found == descriptors_.end()) return false;
  found->changed = false;
  data = found->data;
  return true;
}

int virtual_kernel::open_socket(socket_peer peer) {
  const int made = open_descriptor();
  at(made).peer = std::move(peer);
  return made;
}

void virtual_kernel::arrive(int socket, std::string_view bytes) {
  at(socket).unread += bytes;
  at(socket).changed = true;
}

void virtual_kernel::arrive_end(int socket) noexcept {
  at(socket).ended = at(socket).changed = true;
}

long virtual_kernel::receive(int socket, char* out, std::size_t size, bool keep) noexcept {
  auto& unread = at(socket).unread;
  if (unread.empty()) return at(socket).ended ? 0 : -1;
  const auto count = unread.copy(out, size);
  if (!keep) unread.erase(0, count);
  return static_cast<long>(count);
}

}  // namespace onceguard::sim

// ---- the functions that the C library has under these names, for the whole program

using onceguard::sim::virtual_kernel;

// NOLINTBEGIN: the names are not ours
extern "C" {

int clock_gettime(clockid_t clock, timespec* out) noexcept {
  const auto* kernel = virtual_kernel::current();
  const bool simulated = clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME ||
                         clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC_COARSE ||
                         clock == CLOCK_REALTIME_COARSE;
  if (kernel == nullptr || !simulated) {
    return static_cast<int>(::syscall(SYS_clock_gettime, clock, out));
  }
  const bool wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  *out = onceguard::sim::timespec_of(wall ? kernel->wall_time() : kernel->boot_time());
  return 0;
}

ssize_t getrandom(void* out, size_t size, unsigned flags) {
  auto* kernel = virtual_kernel::current();
  if (kernel == nullptr) return ::syscall(SYS_getrandom, out, size, flags);
  kernel->fill(static_cast<unsigned char*>(out), size);
  return static_cast<ssize_t>(size);
}

int epoll_create1(int flags) noexcept {
  auto* kernel = virtual_kernel::current();
  if (kernel == nullptr) return static_cast<int>(::syscall(SYS_epoll_create1, flags));
  return kernel->open_descriptor();
}

int epoll_create(int) noexcept { return epoll_create1(0); }

int epoll_ctl(int poller, int operation, int descriptor, epoll_event* event) noexcept {
  auto* kernel = virtual_kernel::current();
  if (kernel == nullptr || !virtual_kernel::is_ours(poller)) {
    return static_cast<int>(::syscall(SYS_epoll_ctl, poller, operation, descriptor, event));
  }
  if (operation == EPOLL_CTL_DEL)
    kernel->forget(descriptor);
  else
    kernel->watch(poller, descriptor, event->data.u64);
  return 0;
}

int epoll_wait(int poller, epoll_event* events, int most, int timeout) {
  auto* kernel = virtual_kernel::current();
  if (kernel == nullptr || !virtual_kernel::is_ours(poller)) {
    return static_cast<int>(
        ::syscall(SYS_epoll_pwait, poller, events, most, timeout, nullptr, std::size_t{8}));
  }
  int count = 0;
  std::uint64_t data = 0;
  const auto add = [&] {
    events[count].events = EPOLLIN;
    events[count++].data.u64 = data;
  };
  if (kernel->expired(poller, data)) add();
  while (count < most && kernel->readable(poller, data)) add();
  return count;
}

ssize_t recv(int socket, void* out, size_t size, int flags) {
  auto* kernel = virtual_kernel::current();
  if (kernel == nullptr || !virtual_kernel::is_ours(socket)) {
    return ::syscall(SYS_recvfrom, socket, out, size, flags, nullptr, nullptr);
  }
  const auto got = kernel->receive(socket, static_cast<char*>(out), size, (flags & MSG_PEEK) != 0);
  if (got < 0) errno = EAGAIN;
  return got;
}

ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  auto* kernel = virtual_kernel::current();
  if (kernel == nullptr || !virtual_kernel::is_ours(socket)) {
    return ::syscall(SYS_sendmsg, socket, message, flags);
  }
  std::string bytes;
  for (std::size_t i = 0; i < message->msg_iovlen; ++i) {
    const auto& part = message->msg_iov[i];
    bytes.append(static_cast<const char*>(part.iov_base), part.iov_len);
  }
  const auto size = static_cast<ssize_t>(bytes.size());
  kernel->send(socket, std::move(bytes));
  return size;
}

ssize_t send(int socket, const void* bytes, size_t size, int flags) {
  auto* kernel = virtual_kernel::current();
  if (kernel == nullptr || !virtual_kernel::is_ours(socket)) {
    return ::syscall(SYS_sendto, socket, bytes, size, flags, nullptr, 0);
  }
  kernel->send(socket, std::string(static_cast<const char*>(bytes), size));
  return static_cast<ssize_t>(size);
}

int ioctl(int descriptor, unsigned long what, ...) noexcept {
  if (virtual_kernel::is_ours(descriptor)) return 0;  // it never blocks
  va_list more;
  va_start(more, what);
  void* const argument = va_arg(more, void*);
  va_end(more);
  return static_cast<int>(::syscall(SYS_ioctl, descriptor, what, argument));
}

int timerfd_create(clockid_t clock, int flags) noexcept {
  auto* kernel = virtual_kernel::current();
  if (kernel == nullptr) return static_cast<int>(::syscall(SYS_timerfd_create, clock, flags));
  const int made = kernel->open_descriptor();
  kernel->set_timer(made, onceguard::sim::never);
  return made;
}

int timerfd_settime(int timer, int flags, const itimerspec* next, itimerspec* before) noexcept {
  auto* kernel = virtual_kernel::current();
  if (kernel == nullptr || !virtual_kernel::is_ours(timer)) {
    return static_cast<int>(::syscall(SYS_timerfd_settime, timer, flags, next, before));
  }
  const auto& time = next->it_value;
  // Asio says "at once" by an absolute time long ago.
  const auto wait =
      (flags & TFD_TIMER_ABSTIME) != 0 ? 0 : time.tv_sec * onceguard::sim::second + time.tv_nsec;
  kernel->set_timer(timer, wait);
  return 0;
}

int eventfd(unsigned first, int flags) noexcept {
  auto* kernel = virtual_kernel::current();
  if (kernel == nullptr) return static_cast<int>(::syscall(SYS_eventfd2, first, flags));
  return kernel->open_descriptor();
}

int close(int descriptor) {
  if (!virtual_kernel::is_ours(descriptor)) {
    return static_cast<int>(::syscall(SYS_close, descriptor));
  }
  if (auto* kernel = virtual_kernel::current()) kernel->close(descriptor);
  return 0;
}

}  // extern "C"
// NOLINTEND
