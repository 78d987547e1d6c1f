#include "base/clock.hpp"

#include <ctime>
#include <fstream>

namespace onceguard::base {
namespace {

std::int64_t read_ms(clockid_t which) noexcept {
  timespec now{};
  clock_gettime(which, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

/// The offset between the boot clock of this process's time namespace and the machine's, as the
/// kernel writes the offset. Empty if there is none.
std::string boot_clock_shift() {
  std::ifstream file("/proc/self/timens_offsets");
  std::string name, seconds, nanoseconds;
  while (file >> name >> seconds >> nanoseconds) {
    if (name != "boottime") continue;
    if (seconds == "0" && nanoseconds == "0") break;
    return "+" + seconds + "." + nanoseconds;
  }
  return {};
}

class machine_clock final : public clock {
 public:
  machine_clock() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::getline(file, boot_id_);
    if (!boot_id_.empty()) boot_id_ += boot_clock_shift();
  }
  [[nodiscard]] std::int64_t boot_ms() const noexcept override { return read_ms(CLOCK_BOOTTIME); }
  [[nodiscard]] std::int64_t wall_ms() const noexcept override { return read_ms(CLOCK_REALTIME); }
  [[nodiscard]] const std::string& boot_id() const noexcept override { return boot_id_; }

 private:
  std::string boot_id_;
};

}  // namespace

boot_clock::time_point boot_clock::now() noexcept {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return time_point(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

const clock& system_clock() {
  static const machine_clock it;
  return it;
}

}  // namespace onceguard::base
