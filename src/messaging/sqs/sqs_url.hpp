// What the URLs of consumers and publishers say.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "messaging/broker_kind.hpp"

namespace onceguard::messaging::sqs {

inline constexpr std::string_view consumer_example = "sqs://eu-central-1/orders?hold=30s";
inline constexpr std::string_view publisher_example = "sqs://eu-central-1/orders";

/// Amazon's limit of visibility timeouts.
inline constexpr milliseconds longest_hold{std::chrono::hours(12)};

/// `sqs://REGION/QUEUE[?endpoint=http://HOST:PORT][&hold=30s]`. Credentials have no part in it: see
/// aws/credential_source.hpp.
struct sqs_url {
  std::string region;
  std::string queue;
  std::string endpoint;              ///< without a path
  std::optional<milliseconds> hold;  ///< whole seconds; none: the queue's visibility timeout

  /// "sqs://REGION/QUEUE", for people.
  [[nodiscard]] std::string name() const { return "sqs://" + region + '/' + queue; }
  /// Amazon keeps this ending for FIFO queues.
  [[nodiscard]] bool is_fifo() const noexcept { return queue.ends_with(".fifo"); }
};

/// errc::invalid_argument describes the fault.
[[nodiscard]] result<sqs_url> read_sqs_url(std::string_view text, broker_role role);

}  // namespace onceguard::messaging::sqs
