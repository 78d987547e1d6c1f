// What the parameters of a subscription mean.
#pragma once
#include <optional>
#include <string>

#include <onceguard/subscription.hpp>

namespace onceguard::messaging {

/// Nullopt: the parameters can be used.
[[nodiscard]] std::optional<error> fault_of(const subscription_params& params);
/// Of the consumer, which holds what waits, too.
[[nodiscard]] broker_params consumer_params(const subscription_params& params);
/// The id of the message; empty: it has none.
[[nodiscard]] std::string id_of(const subscription_params& params, const message& received);

}  // namespace onceguard::messaging
