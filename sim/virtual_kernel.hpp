// What the kernel tells a simulated program: clocks, timers and random bytes, all from one seed.
//
// The program is linked with other definitions of clock_gettime, getrandom, timerfd_*, epoll_* and
// of what a connected socket takes: while a virtual_kernel exists on a thread, they ask it, and
// nothing reaches the real kernel. So the sources of the engine, and Asio's event loops, run as
// they are. Without one, they are what they always are.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace onceguard::sim {

/// Nanoseconds of simulated time.
using nanoseconds = std::int64_t;
inline constexpr nanoseconds never = INT64_MAX;
inline constexpr nanoseconds millisecond = 1'000'000;

/// The clocks of one simulated machine, and when its event loop has to look at its timers.
struct machine_clock {
  nanoseconds boot_shift = 0;  ///< of its boot clock before the simulated time
  nanoseconds wall_shift = 0;
  nanoseconds timer_due = never;  ///< simulated time
};

/// A stream of numbers that a seed decides (SplitMix64).
class number_stream {
 public:
  explicit number_stream(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e37'79b9'7f4a'7c15;
    z = (z ^ z >> 30) * 0xbf58'476d'1ce4'e5b9;
    z = (z ^ z >> 27) * 0x94d0'49bb'1331'11eb;
    return z ^ z >> 31;
  }
  /// Evenly from `least` to `most`, both included.
  std::int64_t between(std::int64_t least, std::int64_t most) noexcept {
    const auto width = static_cast<std::uint64_t>(most - least) + 1;
    return least + static_cast<std::int64_t>(next() % width);
  }
  /// True in `percent` of a hundred cases.
  bool chance(int percent) noexcept { return between(0, 99) < percent; }

 private:
  std::uint64_t state_;
};

/// Who is at the other end of a socket.
struct socket_peer {
  std::function<void(std::string)> receive;
  std::function<void()> end;  ///< the process has closed it, or is gone
};

class virtual_kernel {
 public:
  /// There is at most one on a thread.
  explicit virtual_kernel(std::uint64_t seed);
  ~virtual_kernel();
  virtual_kernel(const virtual_kernel&) = delete;
  virtual_kernel& operator=(const virtual_kernel&) = delete;

  [[nodiscard]] nanoseconds now() const noexcept { return now_; }
  void set_now(nanoseconds time) noexcept { now_ = time; }
  /// The machine whose code runs from now on.
  void enter(machine_clock& machine) noexcept { machine_ = &machine; }

  // For the functions of the C library.
  [[nodiscard]] nanoseconds boot_time() const noexcept { return now_ + machine_->boot_shift; }
  [[nodiscard]] nanoseconds wall_time() const noexcept { return now_ + machine_->wall_shift; }
  void fill(unsigned char* out, std::size_t size) noexcept;
  [[nodiscard]] int open_descriptor();
  [[nodiscard]] static bool is_ours(int descriptor) noexcept { return descriptor >= first_; }
  void close(int descriptor) noexcept;
  /// Also again, for what is still to be read.
  void watch(int poller, int descriptor, std::uint64_t data) noexcept;
  void forget(int descriptor) noexcept;
  void set_timer(int descriptor, nanoseconds from_now) noexcept;
  /// Whether the timer that `poller` watches has expired: then `data` is what was said of it.
  [[nodiscard]] bool expired(int poller, std::uint64_t& data) noexcept;
  /// The same of a socket to which something has come, once for each.
  [[nodiscard]] bool readable(int poller, std::uint64_t& data) noexcept;

  // Connected sockets. All that is written is taken at once.
  [[nodiscard]] int open_socket(socket_peer peer);
  void arrive(int socket, std::string_view bytes);
  void arrive_end(int socket) noexcept;
  void send(int socket, std::string bytes) { at(socket).peer.receive(std::move(bytes)); }
  /// How many bytes; 0: the end; negative: none are there yet.
  [[nodiscard]] long receive(int socket, char* out, std::size_t size, bool keep) noexcept;

  /// The kernel of this thread; null: nothing is simulated here.
  [[nodiscard]] static virtual_kernel* current() noexcept;

 private:
  static constexpr int first_ = 1 << 24;
  struct open_file {
    bool used = false;
    bool timer = false;
    machine_clock* machine = nullptr;
    int watched = -1;  // of a poller: its timer
    std::uint64_t data = 0;
    // Of a socket.
    int poller = -1;
    bool changed = false;
    bool ended = false;
    std::string unread;
    socket_peer peer;
  };
  [[nodiscard]] open_file& at(int number) noexcept {
    return descriptors_[static_cast<std::size_t>(number - first_)];
  }

  nanoseconds now_ = 0;
  machine_clock outside_;  // of what belongs to no machine
  machine_clock* machine_ = &outside_;
  number_stream random_;
  std::vector<open_file> descriptors_;
};

/// Code that makes a thread of its own, which nothing is simulated for.
class outside_simulation {
 public:
  outside_simulation() noexcept;
  ~outside_simulation();
  outside_simulation(const outside_simulation&) = delete;
  outside_simulation& operator=(const outside_simulation&) = delete;

 private:
  virtual_kernel* const inside_;
};

}  // namespace onceguard::sim
