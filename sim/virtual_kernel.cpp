#include "virtual_kernel.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

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
  closed.used = closed.timer = false;
}

void virtual_kernel::watch(int poller, int descriptor, std::uint64_t data) noexcept {
  if (!is_ours(descriptor) || !at(descriptor).timer) return;
  at(poller).watched = descriptor;
  at(poller).data = data;
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
  if (operation == EPOLL_CTL_ADD) kernel->watch(poller, descriptor, event->data.u64);
  return 0;
}

int epoll_wait(int poller, epoll_event* events, int most, int timeout) {
  auto* kernel = virtual_kernel::current();
  if (kernel == nullptr || !virtual_kernel::is_ours(poller)) {
    return static_cast<int>(
        ::syscall(SYS_epoll_pwait, poller, events, most, timeout, nullptr, std::size_t{8}));
  }
  std::uint64_t data = 0;
  if (!kernel->expired(poller, data)) return 0;
  events[0].events = EPOLLIN;
  events[0].data.u64 = data;
  return 1;
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
