// A store that may be out of reach when the process starts: it is opened in the background, and
// refuses calls until then.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "store/forwarding_store.hpp"

namespace onceguard {

/// Until the store is open, every call fails at once with errc::store_unreachable and without an
/// effect. From then on every call is a call of the opened store.
class late_store final : public forwarding_store {
 public:
  /// Opens the store; blocks. errc::invalid_argument: no later call will succeed.
  /// errc::store_lost: what is there is damaged. It is not tried again, as a later attempt may find
  /// something else in its place, and nobody would notice the loss.
  using opener = std::function<result<std::unique_ptr<store>>()>;
  using clock = base::boot_clock;

  /// How long after its begin a failed attempt is followed by the next one, at the earliest.
  static constexpr milliseconds retry_interval{500};
  /// How often the log says that the store is not open yet.
  static constexpr milliseconds reminder_interval{60'000};

  /// Makes the first attempt; blocks as long as `open` does. Further attempts follow in the
  /// background. errc::invalid_argument: the opener's. `known`: the traits, as far as they are
  /// known without the store.
  [[nodiscard]] static result<std::unique_ptr<late_store>> open(store_traits known, opener open);
  ~late_store() override { stop(); }

  struct absence {
    std::string why;          ///< of the last attempt
    clock::time_point since;  ///< when the first attempt began
  };
  /// Why the store is not open yet; none: it is open.
  [[nodiscard]] std::optional<absence> why_not_open() const;

  [[nodiscard]] store_traits traits() const override;
  void on_settled(settled_listener listener) override;
  /// Also waits for an attempt that is under way.
  void stop() override;

 private:
  late_store(store_traits known, opener open, clock::time_point begun);

  [[nodiscard]] store* opened() const noexcept { return opened_.load(std::memory_order_acquire); }
  [[nodiscard]] result<store*> target() const override;
  [[nodiscard]] error refusal() const;
  void take(std::unique_ptr<store> opened);
  void fail(const error& why);
  void remind(const error& why);
  void keep_trying(const std::stop_token& stopping);

  const store_traits known_;
  const opener open_;
  const clock::time_point since_;
  std::atomic<store*> opened_{nullptr};
  mutable std::mutex mutex_;  // guards the members below
  std::unique_ptr<store> owned_;
  std::optional<error> refusal_;  // of calls; its detail is the reason of the last attempt
  settled_listener listener_;
  std::mutex stopping_;
  // Used by the thread that tries.
  std::optional<error> damaged_;
  std::string logged_;
  clock::time_point logged_at_{};
  std::jthread thread_;  // the last member: its thread uses the others
};

}  // namespace onceguard
