// What a store that is the truth keeps for an accelerator in front of it: the epoch by which the
// accelerator's copies of completed records are found.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard {

/// How an accelerator was found.
struct accelerator_state {
  std::string identity;  ///< as its vitals tell
  std::uint64_t generation = 0;
  std::int64_t clock_ahead = 0;  ///< milliseconds, of the truth's clock
  friend bool operator==(const accelerator_state&, const accelerator_state&) = default;
};

struct epoch_reading {
  /// Random. Another one after each release of a completed record, from the same moment on.
  std::string epoch;
  std::string origin;            ///< whose memory it is: another copy of the truth tells another
  std::uint64_t forgotten = 0;   ///< as the vitals
  std::uint64_t generation = 0;  ///< of the truth; a smaller one means an older copy
  std::int64_t now = 0;          ///< the truth's clock
  std::optional<accelerator_state> noted;
};

/// Thread-safe; a coroutine is resumed on the executor that it runs on.
class epoch_metadata {
 public:
  epoch_metadata() = default;
  epoch_metadata(const epoch_metadata&) = delete;
  epoch_metadata& operator=(const epoch_metadata&) = delete;
  virtual ~epoch_metadata() = default;

  /// `accelerator`: the identity of the one that is asked about.
  virtual boost::asio::awaitable<result<epoch_reading>> read_epoch(std::string accelerator,
                                                                   milliseconds timeout) = 0;
  /// Notes how it was found. `doubted`: the epoch that ends by that, empty: none; where another one
  /// has begun already, that one goes on. Tells whether it ended one.
  virtual boost::asio::awaitable<result<bool>> note(accelerator_state found, std::string distrusted,
                                                    milliseconds timeout) = 0;
};

}  // namespace onceguard
