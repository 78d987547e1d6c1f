// Publishes to a table, in transactions of its own. A program that publishes in its own
// transaction needs none of it (queue_table.hpp).
#pragma once
#include <memory>

#include <onceguard/broker.hpp>

#include "messaging/postgres_queue/queue_connection.hpp"

namespace onceguard::messaging::postgres_queue {

/// A batch is published as a whole or not at all.
class queue_publisher final : public publisher {
 public:
  /// Throws `failed`.
  queue_publisher(const queue_url& url, const broker_params& params);
  [[nodiscard]] result<void> publish(std::span<const message> batch) override;

 private:
  const std::unique_ptr<connection> server_;
  const std::string statement_;
};

}  // namespace onceguard::messaging::postgres_queue
