#include "messaging/delivery_limits.hpp"

#include <algorithm>

#include "base/value_text.hpp"

namespace onceguard::messaging {

milliseconds sum_of_backoffs(const inbox_policy& policy) {
  constexpr milliseconds enough{365LL * 24 * 3'600'000};
  milliseconds sum{0};
  auto next = std::clamp(policy.backoff, milliseconds(0), enough);
  const auto longest = std::clamp(policy.backoff_max, next, enough);
  for (std::uint32_t i = 1; i < policy.attempts && sum < enough; ++i) {
    sum += next;
    next = std::min(2 * next, longest);
  }
  return std::min(sum, enough);
}

std::string limit_fault(const consumer_traits& traits, std::uint32_t attempts,
                        milliseconds backoffs) {
  if (attempts == 0) return {};
  const auto count = std::to_string(attempts);
  // One more than attempts: a delivery is spent where a consumer ends before its attempt does.
  if (traits.deliveries_max > 0 && traits.deliveries_max <= attempts) {
    const auto most = std::to_string(traits.deliveries_max);
    return "the broker delivers a message " + most + (most == "1" ? " time" : " times") +
           " at most (" + traits.limit_name + ") and then drops it or moves it away, so that " +
           count + " attempts are never made: take the limit away or raise it above " + count +
           ", or set attempts below " + most;
  }
  if (traits.redelivery.count() > 0 && traits.redelivery <= backoffs) {
    return "the queue keeps a message for " + base::duration_text(traits.redelivery) +
           ", and the back-offs of " + count + " attempts take " + base::duration_text(backoffs) +
           ": let the queue keep it for longer, or set fewer attempts or a shorter backoff_max";
  }
  return {};
}

}  // namespace onceguard::messaging
