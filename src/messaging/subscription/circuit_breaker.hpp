// Whether work may begin while what it needs is out of reach. Pure: the time comes from outside.
#pragma once
#include <cstdint>

#include <onceguard/error.hpp>
#include <onceguard/inbox.hpp>

#include "base/clock.hpp"

namespace onceguard::messaging {

/// What the end of a batch says of what its work needs.
enum class work_sign : std::uint8_t {
  works,        ///< the work was done, or refused by who does it
  store_works,  ///< the store answered; the work was not begun
  store_away,
  target_away,  ///< who does the work is out of reach
  doubtful,     ///< nobody knows what became of the work
};

[[nodiscard]] work_sign sign_of(const inbox_outcome& outcome) noexcept;
/// Of an error of a whole batch.
[[nodiscard]] work_sign sign_of(const error& why) noexcept;

/// Closed: batches begin. Open: none begins. Half-open: one runs, the probe, and tells.
class circuit_breaker {
 public:
  using time_point = base::boot_clock::time_point;

  /// `pause`: before the first probe; doubles with each probe in a row that fails.
  explicit circuit_breaker(milliseconds pause) : first_pause_(pause), pause_(pause) {}

  [[nodiscard]] bool is_closed() const noexcept { return state_ == state::closed; }
  [[nodiscard]] bool may_probe(time_point now) const noexcept {
    return state_ == state::open && now >= probe_at_;
  }
  /// Of an open breaker.
  [[nodiscard]] time_point probe_at() const noexcept { return probe_at_; }
  void begin_probe() noexcept { state_ = state::half_open; }
  /// True: the breaker opened or closed by it.
  bool note(work_sign sign, bool probe, time_point now);

 private:
  enum class state : std::uint8_t { closed, open, half_open };

  bool close() noexcept;
  /// The breaker opens, or stays open for longer.
  bool open(work_sign cause, bool probe, time_point now);

  const milliseconds first_pause_;
  milliseconds pause_;
  state state_ = state::closed;
  work_sign cause_ = work_sign::works;
  time_point probe_at_{};
};

}  // namespace onceguard::messaging
