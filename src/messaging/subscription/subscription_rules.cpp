#include "messaging/subscription/subscription_rules.hpp"

#include <algorithm>
#include <exception>
#include <limits>

#include "messaging/delivery_limits.hpp"

namespace onceguard::messaging {

std::optional<error> subscription_fault(const subscription_params& params) {
  const auto refuse = [](const char* why) { return error(errc::invalid_argument, why); };
  if (params.workers == 0) return refuse("subscription_params: workers is not positive");
  if (params.batch == 0) return refuse("subscription_params: batch is not positive");
  if (params.queue.in_flight == 0) return refuse("subscription_params: in_flight is not positive");
  if (params.retry.count() <= 0) return refuse("subscription_params: retry is not positive");
  return std::nullopt;
}

std::optional<error> broker_fault(const consumer_traits& traits, const subscription_params& params,
                                  milliseconds retention) {
  if (!params.dead_letters && !params.drop_dead_letters && !traits.dead_letters) {
    return error(errc::conflict,
                 "subscription: the broker has no destination for dead letters, and none is "
                 "given");
  }
  if (retention.count() > 0 && retention <= traits.redelivery) {
    return error(errc::conflict, "subscription: the retention of the inbox must exceed the " +
                                     std::to_string(traits.redelivery.count() / 1'000) +
                                     " seconds for which the broker may deliver a message again");
  }
  if (auto fault = limit_fault(traits, params.attempts, params.backoffs); !fault.empty()) {
    return error(errc::conflict, "subscription: " + fault);
  }
  return std::nullopt;
}

bool is_last_delivery(const delivery& received, const consumer_traits& traits) noexcept {
  return traits.deliveries_max > 0 && received.count >= traits.deliveries_max;
}

inbox_outcome out_of_deliveries(const consumer_traits& traits) {
  inbox_outcome out;
  out.kind = inbox_result::dead;
  out.reason =
      "the consumer ended before all attempts were made, and the broker delivers it no "
      "more: " +
      traits.limit_name;
  return out;
}

broker_params consumer_params(const subscription_params& params) {
  auto out = params.queue;
  out.prefetch = out.in_flight;
  out.in_flight +=
      std::min(params.waiting, std::numeric_limits<std::size_t>::max() - out.in_flight);
  return out;
}

std::string message_id_of(const subscription_params& params, const message& received) {
  if (!params.id_of) {
    const auto* const id = property_of(received, "message_id");
    return id == nullptr ? std::string() : *id;
  }
  try {
    return params.id_of(received).value_or(std::string());  // without one, it is found dead
  } catch (const std::exception&) {
    return {};  // one bad message must not end the subscription
  }
}

inline namespace v1 {

std::vector<inbox_message> messages_of(std::span<const delivered> batch) {
  std::vector<inbox_message> out;
  for (const auto& one : batch) out.push_back({one.id, one.source->received.payload});
  return out;
}

}  // namespace v1
}  // namespace onceguard::messaging
