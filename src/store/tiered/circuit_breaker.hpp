// The one place where it is decided whether the accelerator is asked, and what its copies are
// worth: by the epoch that a poll read, by how long ago that was, and by whether its calls are
// answered.
#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include <onceguard/store.hpp>

#include "base/clock.hpp"
#include "store/staleness.hpp"
#include "store/tiered/counters.hpp"
#include "store/tiered/trusted_epoch.hpp"

namespace onceguard::tiered {

/// What the accelerator is worth at one moment.
enum class trust : std::uint8_t {
  tripped,     ///< calls of it failed in a row: not asked before a poll reached it again
  no_epoch,    ///< nothing was read since the start or since a distrust: not asked
  stale,       ///< it did not answer a poll lately: not asked
  truth_away,  ///< it answered a poll lately, the truth did not: its copies count, if so configured
  fresh,       ///< both answered a poll lately: its copies and its markers count
};

/// Thread-safe. Points in time are handed in, so that a test can choose them.
class circuit_breaker {
 public:
  using time_point = base::boot_clock::time_point;

  /// `without_truth`: copies are replayed also while the truth does not answer.
  circuit_breaker(tiered_counters& counters, bool without_truth, milliseconds trusted = fresh_for)
      : counters_(counters), without_truth_(without_truth), trusted_(trusted) {}

  /// None: ask the truth alone.
  [[nodiscard]] std::optional<trusted_epoch> now(time_point time) const;

  // --- polls -------------------------------------------------------------------------------
  /// To be taken before a poll. What a poll found counts only if nothing was distrusted meanwhile.
  [[nodiscard]] std::uint64_t ticket() const;
  /// Both answered; `asked_at` is before either was asked.
  void both_answered(std::uint64_t ticket, const digest& epoch, std::uint64_t forgotten,
                     time_point asked_at);
  /// The accelerator answered, and is the same as before; the truth did not answer.
  void accelerator_answered(std::uint64_t ticket, time_point asked_at);
  /// From here on only a poll that begins later counts.
  void distrust_now();
  /// The truth's vitals, on their way to a caller: what the caller learns, the breaker must not
  /// learn later. True: copies made so far are distrusted from here on.
  bool note_vitals(const vitals& vitals);

  // --- calls -----------------------------------------------------------------------------
  void reached();                                        ///< a call was answered
  void failed(const std::string& why, time_point time);  ///< a call was not
  void probed(time_point time);                          ///< it answers (again)

 private:
  [[nodiscard]] trust trust_at(time_point time) const;

  tiered_counters& counters_;
  const bool without_truth_;
  const milliseconds trusted_;

  mutable std::mutex mutex_;
  std::optional<digest> epoch_;
  std::uint64_t distrusts_ = 0;
  std::uint64_t forgotten_ = 0;
  std::optional<vitals> reported_;
  time_point truth_answered_at_{};
  time_point accelerator_answered_at_{};

  std::uint32_t failures_ = 0;  // in a row
  time_point first_failure_{};
  std::optional<time_point> open_since_;
};

}  // namespace onceguard::tiered
