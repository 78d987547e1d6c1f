// The one place where it is decided what may be believed of the accelerator: the epoch that was
// read, how long ago that was, and whether the accelerator answers (the breaker).
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

/// Thread-safe. Points in time are handed in, so that a test can.
class circuit_breaker {
 public:
  using time_point = base::boot_clock::time_point;

  /// `without_truth`: answers are replayed also while the truth can't be heard.
  circuit_breaker(tiered_counters& counters, bool without_truth, milliseconds trusted = fresh_for)
      : counters_(counters), without_truth_(without_truth), trusted_(trusted) {}

  /// None: ask the truth alone.
  [[nodiscard]] std::optional<trusted_epoch> now(time_point time) const;

  // --- looks -------------------------------------------------------------------------------
  /// To be taken before a look. What a look found counts only if nothing was doubted meanwhile.
  [[nodiscard]] std::uint64_t ticket() const;
  /// Both answered; `asked` is before either was.
  void both_answered(std::uint64_t ticket, const digest& epoch, std::uint64_t forgotten,
                     time_point asked_at);
  /// The accelerator answered, and is the one that it was; the truth did not answer.
  void accelerator_answered(std::uint64_t ticket, time_point asked_at);
  /// From here on only a look that begins later counts.
  void distrust_now();
  /// What the truth tells on its way to whoever watches it: what that one hears first, this one
  /// must not hear later. True: something was doubted.
  bool reply(const vitals& by_truth);

  // --- the breaker -------------------------------------------------------------------------
  void reached();                                        ///< a call was answered
  void failed(const std::string& why, time_point time);  ///< a call was not
  void probed(time_point time);                          ///< it answers (again)

 private:
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
