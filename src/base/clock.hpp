// The only source of time. All other code gets a clock as a parameter.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "base/for_ever.hpp"

namespace onceguard::base {

class clock {
 public:
  clock() = default;
  clock(const clock&) = delete;
  clock& operator=(const clock&) = delete;
  virtual ~clock() = default;

  /// Milliseconds of CLOCK_BOOTTIME: never steps, counts while the machine sleeps, starts anew at
  /// boot.
  [[nodiscard]] virtual std::int64_t boot_ms() const noexcept = 0;
  /// The wall clock: milliseconds since 1970, may step.
  [[nodiscard]] virtual std::int64_t wall_ms() const noexcept = 0;
  /// Differs after each boot of the machine, and between time namespaces that shift the boot clock.
  /// Clocks with the same id show the same time. Empty where the kernel gives no boot id.
  [[nodiscard]] virtual const std::string& boot_id() const noexcept = 0;
};

/// The machine's clocks. Thread-safe; they live as long as the program.
[[nodiscard]] const clock& system_clock();

/// Monotonic time for this process's timeouts, leases and caches, never for stored values. Uses
/// CLOCK_BOOTTIME instead of std::chrono::steady_clock, which stops while the machine sleeps: data
/// read before a suspend would count as fresh after the suspend.
struct boot_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<boot_clock>;
  static constexpr bool is_steady = true;
  [[nodiscard]] static time_point now() noexcept;
};

/// A point in time so long after another one. It never wraps, whatever a caller asks for.
[[nodiscard]] inline boot_clock::time_point operator+(boot_clock::time_point time,
                                                      std::chrono::milliseconds duration) noexcept {
  return std::chrono::operator+(time, bounded(duration));
}

[[nodiscard]] inline boot_clock::time_point boot_now() noexcept { return boot_clock::now(); }

/// The wall clock in microseconds since 1970, for numbers that must grow from one transaction to
/// the next even if nothing of the first transaction is left.
[[nodiscard]] inline std::int64_t wall_microseconds() noexcept {
  using std::chrono::duration_cast;
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return duration_cast<std::chrono::microseconds>(since_1970).count();
}

}  // namespace onceguard::base
