// Notices that a store lost its memory (invariant: such a loss is never silent).
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include <onceguard/engine.hpp>
#include <onceguard/store.hpp>

#include "base/clock.hpp"
#include "engine/witness.hpp"

namespace onceguard {

/// compare() is called by one after the other; the questions may be asked at any time.
class loss_watch {
 public:
  using time_point = base::boot_clock::time_point;

  /// Reads the witness file, if there is a state_dir and a file. What followed from a loss that was
  /// seen before goes on: another start makes nothing safe again.
  explicit loss_watch(const engine_params& params);

  /// Can the witness file be written? errc::invalid_argument: no, and why.
  [[nodiscard]] result<void> check() const { return witness_.check(); }

  enum class change : std::uint8_t { none, forgotten, lost };
  /// Compares with the vitals of before, and writes the witness when they changed.
  change compare(const vitals& now, time_point time);

  /// For how long no new claims may be made: after a loss, with after_loss = refuse. 0: they may.
  [[nodiscard]] milliseconds refuses_for(time_point time) const noexcept;
  /// New runs may be repeats of what the store forgot.
  [[nodiscard]] bool maybe_repeated(time_point time) const noexcept;
  /// See engine::expect(). From any thread.
  void expect(milliseconds quiet, milliseconds retention) noexcept;

 private:
  void lost(time_point time);

  const after_loss_rule rule_;
  std::atomic<std::int64_t> quiet_ms_;
  std::atomic<std::int64_t> retention_ms_;
  witness witness_;
  std::optional<vitals> last_;
  std::uint64_t written_generation_ = 0;
  std::atomic<std::int64_t> refuse_until_{0};  // steady clock, ms; 0: no
  std::atomic<std::int64_t> flagged_until_{0};
};

}  // namespace onceguard
