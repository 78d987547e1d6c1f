// Where a subscription publishes its dead letters, with their reason.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/subscription.hpp>

#include "base/clock.hpp"

namespace onceguard::messaging {

/// A destination of the subscription's own. One thread at a time.
class dead_letters {
 public:
  /// `subscriber`: what the dead letters call it. `retry`: the pause after a first error of the
  /// connection; doubles with each in a row.
  dead_letters(std::optional<broker_params> destination, std::string subscriber, milliseconds retry)
      : destination_(std::move(destination)), subscriber_(std::move(subscriber)), retry_(retry) {}

  /// False: there is none; the consumer's broker may have one.
  [[nodiscard]] bool given() const noexcept { return destination_.has_value(); }
  /// Publishes the message with this id (empty: none). errc::conflict: it is not stored, or that is
  /// not known. After an error of the connection the calls fail without an attempt until the pause
  /// is over: each would block for its timeout, and the other messages with it.
  [[nodiscard]] result<void> publish(const message& received, std::string_view id,
                                     const inbox_outcome& outcome);

 private:
  result<void> try_to_publish(const message& dead);
  result<void> wait_for_former();
  [[nodiscard]] bool was_stored(const message& dead);
  /// In the place of one that the destination refuses: with fewer headers each time.
  result<void> publish_less(message dead, const inbox_outcome& outcome, error refusal);

  const std::optional<broker_params> destination_;
  const std::string subscriber_;
  const milliseconds retry_;
  milliseconds pause_ = retry_;
  std::unique_ptr<publisher> publisher_;
  std::optional<message> on_its_way_;  ///< to a broker that takes nothing for now
  std::vector<message> stored_;        ///< after such a wait; they come here once more
  std::string away_;                   ///< why the last attempt failed, if the connection did
  base::boot_clock::time_point again_at_{};
};

}  // namespace onceguard::messaging
