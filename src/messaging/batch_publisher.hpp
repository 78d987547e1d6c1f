// A publisher that connects when it is needed, and says which messages of a batch are refused.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <onceguard/broker.hpp>

namespace onceguard::messaging {

/// For each message of a batch: empty: it is stored. Otherwise why the broker refuses it.
using refusals = std::vector<std::string>;

/// One thread at a time.
class batch_publisher {
 public:
  /// Connects at the first message, and again after a failure.
  explicit batch_publisher(broker_params params) : params_(std::move(params)) {}

  /// Blocks, for at most the timeout, and once more for each message of a batch that is refused.
  /// errc::broker_unreachable: the destination is out of reach, or missing; errc::store_full: it
  /// has no room. Any of the messages may be stored: publish all of them again.
  [[nodiscard]] result<refusals> publish(std::span<const message> batch);

 private:
  result<void> try_to_publish(std::span<const message> batch);

  broker_params params_;
  std::unique_ptr<publisher> publisher_;
};

}  // namespace onceguard::messaging
