// What the parameters of a subscription mean.
#pragma once
#include <optional>
#include <string>

#include <onceguard/subscription.hpp>

namespace onceguard::messaging {

/// Nullopt: the parameters can be used.
[[nodiscard]] std::optional<error> subscription_fault(const subscription_params& params);
/// Of the consumer, which holds what waits, too.
[[nodiscard]] broker_params consumer_params(const subscription_params& params);
/// The id of the message; empty: it has none.
[[nodiscard]] std::string message_id_of(const subscription_params& params, const message& received);

/// Why no message may be taken from this broker; nullopt: nothing is against it. `retention`: as
/// for run_subscription.
[[nodiscard]] std::optional<error> broker_fault(const consumer_traits& traits,
                                                const subscription_params& params,
                                                milliseconds retention);
[[nodiscard]] bool is_last_delivery(const delivery& received,
                                    const consumer_traits& traits) noexcept;
/// Of a message that the broker delivers no more, and whose attempts are not all made.
[[nodiscard]] inbox_outcome out_of_deliveries(const consumer_traits& traits);

}  // namespace onceguard::messaging
