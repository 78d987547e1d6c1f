// The journal store as the process of a machine has it, on a simulated disk: the power fails, the
// process is killed, and the disk refuses, is full, or takes its time.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "simulated_disk.hpp"
#include "store/forwarding_store.hpp"
#include "store/journal/journal_store.hpp"
#include "world.hpp"

namespace onceguard::sim {

class journal_process final : public forwarding_store {
 public:
  journal_process(world& around, machine& node, std::uint64_t seed);

  /// Opens what is on the disk. An error: that can't be now.
  [[nodiscard]] result<void> start();
  /// From now on nothing reaches the disk: the process is as good as gone.
  void cut_off() noexcept { cut_off_ = true; }
  /// After the end of its loop. `power_cut`: what was not flushed is lost, any part of it; and the
  /// machine's boot ends.
  void end(bool power_cut);

  /// When the decisions were made that it answers now: before their flush.
  [[nodiscard]] nanoseconds decided_at() const noexcept { return decided_at_; }
  /// Whether its turns come at once.
  void hurry(bool hurried) noexcept { hurried_ = hurried; }
  /// Is called at the act on the disk at which it happens.
  std::function<void(const disturbance&)> on_crash;

  [[nodiscard]] store_traits traits() const override {
    return {.name = "journal", .shared = false};
  }

 protected:
  [[nodiscard]] result<store*> target() const override;

 private:
  /// The machine's clocks, of which the boot clock begins anew with each boot.
  class boot final : public base::clock {
   public:
    [[nodiscard]] std::int64_t boot_ms() const noexcept override {
      return base::system_clock().boot_ms();
    }
    [[nodiscard]] std::int64_t wall_ms() const noexcept override {
      return base::system_clock().wall_ms();
    }
    [[nodiscard]] const std::string& boot_id() const noexcept override { return id; }
    std::string id = "boot 1";
  };

  [[nodiscard]] journal::journal_params make_params();
  [[nodiscard]] int meet_act(simulated_disk::act_kind kind);
  void run_later(std::function<void()> turn);

  world& world_;
  machine& node_;
  number_stream random_;
  boot clock_;
  int boots_ = 1;
  bool cut_off_ = false;
  bool hurried_ = false;
  nanoseconds full_until_ = 0;
  nanoseconds decided_at_ = 0;
  const std::uint64_t segment_size_;
  const std::uint64_t checkpoint_after_;
  const std::size_t cache_size_;
  simulated_disk disk_;
  std::unique_ptr<journal::journal_store> opened_;
};

}  // namespace onceguard::sim
