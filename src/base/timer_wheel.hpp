// Deadlines for many operations on one I/O thread, at low cost: an armed deadline is a node in a
// timing wheel (Varghese and Lauck 1987), and one coarse timer per io_context turns the wheel.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.hpp"

namespace onceguard::base {

class timer_wheel;

/// Base class for objects with a deadline. Used only by the thread that runs the io_context. The
/// destructor disarms. Deadlines expire within two ticks, never early.
class deadline {
 public:
  deadline() = default;
  deadline(const deadline&) = delete;
  deadline& operator=(const deadline&) = delete;
  virtual ~deadline() { disarm(); }

  /// Arms the deadline, or moves an armed deadline. `for_ever` disarms: the wheel would turn for
  /// nothing.
  void arm(timer_wheel& wheel, std::chrono::milliseconds from_now);
  void disarm() noexcept;
  [[nodiscard]] bool armed() const noexcept { return wheel_ != nullptr; }

 protected:
  /// Called on the io_context's thread after disarming. May arm again or destroy the object.
  virtual void expired() = 0;

 private:
  friend class timer_wheel;
  timer_wheel* wheel_ = nullptr;
  deadline** slot_ = nullptr;
  deadline* previous_ = nullptr;
  deadline* next_ = nullptr;
  std::uint64_t due_tick_ = 0;
};

/// The timer service of an io_context that one thread runs: `timer_wheel::of(context)`.
class timer_wheel final : public boost::asio::execution_context::service {
 public:
  static inline boost::asio::execution_context::id id;
  static constexpr std::chrono::milliseconds tick{10};

  explicit timer_wheel(boost::asio::io_context& context);
  static timer_wheel& of(boost::asio::io_context& context) {
    return boost::asio::use_service<timer_wheel>(context);
  }

  /// The wheel turns on for a tick after the last deadline was disarmed, and occupies its context
  /// meanwhile. Where no deadline is armed, this stops it at once.
  void rest();

 private:
  friend class deadline;
  static constexpr std::size_t slots = 512;  // one turn takes 5 s
  void shutdown() noexcept override;
  void schedule();
  void turn();
  [[nodiscard]] std::uint64_t ticks_now() const;

  boost::asio::steady_timer timer_;
  boot_clock::time_point start_;
  std::array<deadline*, slots> wheel_{};
  std::uint64_t turned_ = 0;  // the last tick whose slot was visited
  std::size_t armed_ = 0;
  bool ticking_ = false;
};

}  // namespace onceguard::base
