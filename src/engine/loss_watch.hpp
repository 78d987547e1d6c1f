// Notices that a store lost its memory (invariant: such a loss is never silent).
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>

#include <onceguard/engine.hpp>
#include <onceguard/store.hpp>

#include "base/clock.hpp"
#include "engine/witness.hpp"

namespace onceguard {

/// Calls of compare() must not overlap; the const members may be called at any time.
class loss_watch {
 public:
  using time_point = base::boot_clock::time_point;

  /// Reads the witness file, if there is a state_dir and a file. The consequences of a loss that
  /// was noticed before the restart stay in force: a restart makes nothing safe again.
  explicit loss_watch(const engine_params& params);

  /// Whether the witness file can be written; errc::invalid_argument gives the reason if not.
  [[nodiscard]] result<void> check() const { return witness_.check(); }

  enum class change : std::uint8_t { none, forgotten, lost };
  /// Compares with the previous vitals, and writes the witness if they changed.
  change compare(const vitals& now, time_point time);

  /// How long no new claims may be made after a loss, with after_loss = refuse. 0: claims may be
  /// made.
  [[nodiscard]] milliseconds refuses_for(time_point time) const noexcept;
  /// Whether a new run may repeat an operation that the store has forgotten.
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
  // How long these periods were when they began, in ms.
  std::int64_t refuse_length_ = 0;
  std::int64_t flagged_length_ = 0;
};

}  // namespace onceguard
