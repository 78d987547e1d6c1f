#include "base/random.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <pthread.h>
#include <stdexcept>
#include <sys/random.h>

namespace onceguard::base {
namespace {

std::atomic<unsigned> forks{0};

/// How many forks lead to this process: a forked process must not reuse its parent's random bytes.
unsigned forks_so_far() noexcept {
  static const int watched = pthread_atfork(nullptr, nullptr, [] { ++forks; });
  static_cast<void>(watched);
  return forks.load(std::memory_order_relaxed);
}

/// From the kernel, which never gives less than 256 bytes at a time.
void fill(std::span<unsigned char> out) {
  constexpr std::size_t most = 256;
  for (std::size_t done = 0; done < out.size();) {
    const auto got = ::getrandom(out.data() + done, std::min(out.size() - done, most), 0);
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      throw std::runtime_error("the system has no random bytes");
    }
  }
}

}  // namespace

void random_bytes(std::span<unsigned char> out) {
  // A buffer per thread: one call of the generator serves many claim ids.
  static thread_local std::array<unsigned char, 1024> reserve;
  static thread_local std::size_t used = reserve.size();
  static thread_local unsigned made_after = 0;
  if (const auto now = forks_so_far(); made_after != now) {
    made_after = now;
    used = reserve.size();
  }
  if (out.size() > reserve.size()) throw std::runtime_error("too many random bytes at once");
  if (out.size() > reserve.size() - used) {
    fill(reserve);
    used = 0;
  }
  for (auto& byte : out) {
    byte = reserve[used];
    reserve[used++] = 0;
  }
}

}  // namespace onceguard::base
