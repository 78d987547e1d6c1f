// Preloaded into a gateway: its process dies by SIGKILL before a system call that a test has chosen
// by its number. A file that both map holds two numbers: how many calls are left until then (0:
// none is counted), and the name of the call before which the process died.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

struct crash_point {
  std::atomic<std::int64_t> calls_left;
  char name[24];
};

crash_point* shared_point() {
  static crash_point* const point = []() -> crash_point* {
    const char* const path = std::getenv("ONCEGUARD_TEST_CRASH");
    const int file = path == nullptr ? -1 : ::open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return nullptr;  // a program between the test and the gateway, such as setpriv
    void* const mapped =
        ::mmap(nullptr, sizeof(crash_point), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (mapped == MAP_FAILED) ::_exit(125);
    return static_cast<crash_point*>(mapped);
  }();
  return point;
}

/// That which loaded this library: what a gateway forks beside itself is not to die in its place.
const pid_t program = ::getpid();

void count(const char* name) {
  crash_point* const point = shared_point();
  if (point == nullptr || ::getpid() != program) return;
  auto left = point->calls_left.load();
  while (left > 0 && !point->calls_left.compare_exchange_weak(left, left - 1)) {
  }
  if (left != 1) return;
  std::strncpy(point->name, name, sizeof point->name - 1);
  ::kill(::getpid(), SIGKILL);
}

template <class function>
function next(const char* name) {
  return reinterpret_cast<function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

#define COUNTED(result, name, parameters, ...)                  \
  extern "C" result name parameters {                           \
    static const auto real = next<result(*) parameters>(#name); \
    count(#name);                                               \
    return real(__VA_ARGS__);                                   \
  }

// What changes a file or says something to another process, and what hears from one.
COUNTED(ssize_t, write, (int file, const void* bytes, size_t size), file, bytes, size)
COUNTED(ssize_t, writev, (int file, const iovec* parts, int size), file, parts, size)
COUNTED(ssize_t, pwrite, (int file, const void* bytes, size_t size, off_t offset), file, bytes,
        size, offset)
COUNTED(ssize_t, pwrite64, (int file, const void* bytes, size_t size, off64_t offset), file, bytes,
        size, offset)
extern "C" ssize_t pwritev2(int file, const iovec* parts, int size, off_t offset, int flags) {
  static const auto real = next<ssize_t (*)(int, const iovec*, int, off_t, int)>("pwritev2");
  count((flags & RWF_DSYNC) != 0 ? "pwritev2" : "pwritev2, unflushed");
  return real(file, parts, size, offset, flags);
}
COUNTED(int, fsync, (int file), file)
COUNTED(int, fdatasync, (int file), file)
COUNTED(int, connect, (int file, const sockaddr* address, socklen_t size), file, address, size)
COUNTED(ssize_t, send, (int file, const void* bytes, size_t size, int flags), file, bytes, size,
        flags)
COUNTED(ssize_t, sendto,
        (int file, const void* bytes, size_t size, int flags, const sockaddr* address,
         socklen_t length),
        file, bytes, size, flags, address, length)
COUNTED(ssize_t, sendmsg, (int file, const msghdr* message, int flags), file, message, flags)
COUNTED(ssize_t, recv, (int file, void* bytes, size_t size, int flags), file, bytes, size, flags)
COUNTED(ssize_t, recvfrom,
        (int file, void* bytes, size_t size, int flags, sockaddr* address, socklen_t* length), file,
        bytes, size, flags, address, length)
COUNTED(ssize_t, recvmsg, (int file, msghdr* message, int flags), file, message, flags)
