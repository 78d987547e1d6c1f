// The metadata that a truth keeps for the accelerator in front of it: the epoch, by which the
// accelerator's copies of completed records are found.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard {

/// The state in which an accelerator was found.
struct accelerator_state {
  std::string identity;  ///< as its vitals report it
  std::uint64_t generation = 0;
  std::int64_t clock_ahead = 0;  ///< milliseconds by which it is ahead of the truth's clock
  friend bool operator==(const accelerator_state&, const accelerator_state&) = default;
};

struct epoch_reading {
  /// Random. Replaced with each release of a completed record, at the same moment.
  std::string epoch;
  std::string origin;            ///< whose memory it is: another copy of the truth reports another
  std::uint64_t forgotten = 0;   ///< as in the vitals
  std::uint64_t generation = 0;  ///< of the truth; a smaller one means an older copy
  std::int64_t now = 0;          ///< the truth's clock
  std::optional<accelerator_state> noted;
};

/// Thread-safe. A coroutine is resumed on the executor that it runs on.
class epoch_metadata {
 public:
  epoch_metadata() = default;
  epoch_metadata(const epoch_metadata&) = delete;
  epoch_metadata& operator=(const epoch_metadata&) = delete;
  virtual ~epoch_metadata() = default;

  /// `accelerator`: the identity of the accelerator in question.
  virtual boost::asio::awaitable<result<epoch_reading>> read_epoch(std::string accelerator,
                                                                   milliseconds timeout) = 0;
  /// Stores the state `found`. `distrusted`: the epoch to end with that; empty: none. An epoch that
  /// has been replaced already is left alone, and the newer one goes on. Returns whether an epoch
  /// was ended.
  virtual boost::asio::awaitable<result<bool>> note(accelerator_state found, std::string distrusted,
                                                    milliseconds timeout) = 0;
};

}  // namespace onceguard
