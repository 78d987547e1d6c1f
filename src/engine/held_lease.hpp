// A lease while its work runs. It is checked before anything is sent, and renewed after each third
// of its length, if the route renews leases.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <onceguard/engine.hpp>
#include <onceguard/store.hpp>

#include "base/clock.hpp"
#include "base/timer_wheel.hpp"

namespace onceguard {
inline namespace v1 {

/// How a lease is renewed.
enum class renewal : std::uint8_t {
  by_timer,   ///< the lease belongs to the thread of its io_context, whose timers renew it
  by_rounds,  ///< the engine's own loop renews it, and its holder may be on any thread
};

/// With renewal::by_timer, belongs to the thread of its io_context; only give_up() may be called
/// from any thread. With renewal::by_rounds, one thread at a time may use it, beside the rounds.
class held_lease : public base::deadline, public std::enable_shared_from_this<held_lease> {
 public:
  using time_point = base::boot_clock::time_point;

  held_lease(boost::asio::io_context& io, store& records, record_id id, lease got,
             milliseconds length, milliseconds store_timeout, time_point claimed,
             renewal renewed_by = renewal::by_timer);

  [[nodiscard]] const record_id& id() const noexcept { return id_; }
  [[nodiscard]] const onceguard::lease& lease() const noexcept { return lease_; }
  [[nodiscard]] renewal renewed_by() const noexcept { return renewed_by_; }
  /// "OG1-" and record id, token and claim id in hex: the text with which an application completes
  /// the operation itself.
  [[nodiscard]] std::string text() const;

  /// Call this just before anything leaves this process. False: less than a third of the lease is
  /// left, or the lease was given up; then nothing may be sent. The time is measured by this
  /// process's own clock from before the claim (or the last renewal) was sent, as the process may
  /// have been stopped for minutes.
  [[nodiscard]] bool begin_sending() noexcept;
  /// Call this before each further piece, in particular the last one. False: the lease ran out by
  /// this process's own clock, was superseded or was given up, and another attempt may run by now.
  /// The request that was partly sent must then stay incomplete.
  [[nodiscard]] bool may_go_on() const noexcept;
  /// How much of the lease is left, by the same clock.
  [[nodiscard]] milliseconds left() const noexcept;
  /// From now on, nothing may be sent. Returns true if nothing was sent before; also when it is
  /// called again.
  bool give_up() noexcept;
  [[nodiscard]] bool is_given_up() const noexcept { return stage_.load() >= stage::given_up; }
  [[nodiscard]] bool superseded() const noexcept { return superseded_; }
  /// Superseded, or given up.
  [[nodiscard]] bool is_lost() const noexcept { return superseded_ || is_given_up(); }

  /// How often it was renewed.
  [[nodiscard]] unsigned renewals() const noexcept { return renewals_; }

  void keep_renewing();
  /// For leases that are renewed by rounds: renews the lease if it is time. Called on the thread of
  /// its io_context.
  void renew_if_due();
  /// Requests a stop when the lease is lost: superseded, or over by this process's own clock. From
  /// any thread. Only for leases that are renewed by rounds.
  [[nodiscard]] std::stop_token stop_when_lost();
  void stop_renewing() noexcept {
    stopped_ = true;
    disarm();
  }
  /// Renews the lease now. False: superseded.
  boost::asio::awaitable<result<bool>> renew_now() { return extend(false); }
  /// Moves the lease from probing to running, with the same token. False: superseded.
  boost::asio::awaitable<result<bool>> dispatch();

 private:
  void expired() override;
  static boost::asio::awaitable<void> renew(std::shared_ptr<held_lease> self);
  boost::asio::awaitable<result<bool>> extend(bool dispatch);

  boost::asio::io_context& io_;
  store& store_;
  const record_id id_;
  onceguard::lease lease_;
  const milliseconds length_;
  const milliseconds store_timeout_;
  const renewal renewed_by_;
  std::atomic<time_point> counted_from_;
  std::atomic<time_point> next_try_{};  // by rounds
  /// `broken_off`: given up after something was sent.
  enum class stage : std::uint8_t { nothing_sent, sending, given_up, broken_off };
  std::atomic<stage> stage_{stage::nothing_sent};
  std::atomic<bool> superseded_{false};
  std::atomic<unsigned> renewals_{0};
  std::atomic<bool> renewing_{false};
  std::atomic<bool> stopped_{false};
  [[nodiscard]] onceguard::lease copied() {
    const std::lock_guard lock(mutex_);
    return lease_;
  }

  std::mutex mutex_;  // of the next member, and of what its holder changes in lease_
  std::stop_source lost_{std::nostopstate};
};

}  // namespace v1
}  // namespace onceguard
