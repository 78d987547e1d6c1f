// A clock that a test moves.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/clock.hpp"

namespace onceguard::base {

/// One thread moves the clock; any thread may read all but the boot id.
class manual_clock final : public clock {
 public:
  [[nodiscard]] std::int64_t boot_ms() const noexcept override { return boot_; }
  [[nodiscard]] std::int64_t wall_ms() const noexcept override { return wall_; }
  [[nodiscard]] const std::string& boot_id() const noexcept override { return id_; }

  manual_clock() = default;
  /// Both clocks show the same time, for stores that have only one clock.
  explicit manual_clock(std::int64_t both) : boot_(both), wall_(both) {}

  void advance(std::chrono::milliseconds duration) {
    boot_ += duration.count(), step_wall(duration);
  }
  void step_wall(std::chrono::milliseconds duration) {
    wall_ += duration.count();
    if (moved_) moved_();
  }
  void reboot(std::string id) { boot_ = 1'000, id_ = std::move(id); }
  /// `moved` is called after each move.
  void on_move(std::function<void()> moved) { moved_ = std::move(moved); }

 private:
  std::atomic<std::int64_t> boot_{1'000'000};  // atomic: a store's thread may read the clock
  std::atomic<std::int64_t> wall_{1'700'000'000'000};
  std::string id_ = "boot-1";
  std::function<void()> moved_;
};

}  // namespace onceguard::base
