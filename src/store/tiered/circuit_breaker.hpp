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
#include "base/hash.hpp"
#include "store/epoch_metadata.hpp"
#include "store/staleness.hpp"
#include "store/tiered/tiered_params.hpp"

namespace onceguard::tiered {

/// A digest of everything on which the copies depend. When one of these changes, no former copy is
/// found any more.
[[nodiscard]] inline digest epoch_in_use(const epoch_reading& truth,
                                         const std::string& accelerator) {
  return base::sha256().part(truth.epoch).part(truth.origin).part(accelerator).finish();
}

struct trusted_epoch {
  digest epoch{};
  /// False: only copies of completed records count, because markers may be outdated.
  bool busy = true;

  /// The id under which the accelerator has the copy of a record, or the marker of a claim.
  [[nodiscard]] record_id slot_of(const record_id& id) const {
    return base::sha256().part(base::as_chars(epoch)).part(base::as_chars(id)).finish();
  }
};

/// What the accelerator is worth at one moment.
enum class trust : std::uint8_t {
  tripped,     ///< calls of it failed in a row: not asked before a poll reached it again
  no_epoch,    ///< nothing was read since the start or since a distrust: not asked
  stale,       ///< it did not answer a poll lately: not asked
  truth_away,  ///< it answered a poll lately, the truth did not: its copies count, if so configured
  fresh,       ///< both answered a poll lately: its copies and its markers count
};

/// Thread-safe. Times are parameters, so that a test can choose them.
class circuit_breaker {
 public:
  using time_point = base::boot_clock::time_point;

  /// `without_truth`: copies are replayed also while the truth does not answer.
  circuit_breaker(tiered_counters& counters, bool without_truth, milliseconds trusted = fresh_for)
      : counters_(counters), without_truth_(without_truth), trusted_(trusted) {}

  /// The epoch whose copies count at `time`. Empty: only the truth may be asked.
  [[nodiscard]] std::optional<trusted_epoch> epoch_at(time_point time) const;

  // --- polls -------------------------------------------------------------------------------
  /// To be taken before a poll. What a poll found counts only if nothing was distrusted meanwhile.
  [[nodiscard]] std::uint64_t ticket() const;
  /// Both answered; `asked_at` is before either was asked. False: something was distrusted
  /// meanwhile, and the poll does not count.
  bool both_answered(std::uint64_t ticket, const digest& epoch, std::uint64_t forgotten,
                     time_point asked_at);
  /// The accelerator answered, and is the same as before; the truth did not answer.
  void accelerator_answered(std::uint64_t ticket, time_point asked_at);
  /// From here on only a poll that begins later counts.
  void distrust_now();
  /// The truth's vitals, on their way to a caller: what the caller learns, the breaker must not
  /// learn later. True: copies made so far are distrusted from here on.
  bool note_vitals(const vitals& vitals);

  // --- calls -----------------------------------------------------------------------------
  void call_succeeded();                                      ///< a call was answered
  void call_failed(const std::string& why, time_point time);  ///< a call was not
  void poll_succeeded(time_point time);                       ///< it answers (again)

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
