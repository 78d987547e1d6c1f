// Preloaded into a server: its wall clock is a number in a file that a test writes. Its monotonic
// clock goes on, so that its timers work.
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

namespace {

using milliseconds = std::int64_t;

/// Nothing here may allocate: the server's allocator asks for the time while it is being set up.
const volatile milliseconds* shared_clock() {
  static const volatile milliseconds* const at = []() -> const volatile milliseconds* {
    const char* const path = std::getenv("ONCEGUARD_TEST_CLOCK");
    const int file = path == nullptr ? -1 : ::open(path, O_RDONLY);
    if (file < 0) ::_exit(125);
    void* const mapped = ::mmap(nullptr, sizeof(milliseconds), PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    if (mapped == MAP_FAILED) ::_exit(125);
    return static_cast<const milliseconds*>(mapped);
  }
  ();
  return at;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t which, timespec* out) noexcept {
  if (which != CLOCK_REALTIME) {
    return static_cast<int>(::syscall(SYS_clock_gettime, which, out));
  }
  const milliseconds now = *shared_clock();
  out->tv_sec = now / 1'000;
  out->tv_nsec = now % 1'000 * 1'000'000;
  return 0;
}

int gettimeofday(timeval* out, void*) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1'000;
  return 0;
}

time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
