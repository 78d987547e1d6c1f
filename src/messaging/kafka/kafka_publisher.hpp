// Sends messages to a topic of Kafka.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <onceguard/broker.hpp>

#include "messaging/kafka/kafka_connection.hpp"
#include "messaging/kafka/kafka_url.hpp"

namespace onceguard::messaging::kafka {

/// An idempotent producer: what librdkafka sends again by itself is stored once, and in order. All
/// in-sync replicas have a message before it counts as stored. A message without order_key goes to
/// any partition. Where the broker refuses one message of a batch, later ones of its key may be
/// stored: published again, it comes behind them.
class kafka_publisher final : public publisher {
 public:
  /// Finds the topic. Throws `failed`.
  kafka_publisher(const kafka_url& url, const broker_params& params);

  [[nodiscard]] result<void> publish(std::span<const message> batch) override;

 private:
  void configure(rd_kafka_conf_t* conf);
  void check(std::span<const message> batch) const;
  void send(const message& next, time_point until);
  /// Waits for all reports. Throws `failed` where they do not come.
  void wait_for_reports(time_point until);
  void note_report(const rd_kafka_message_t& report);

  connection server_;
  const topic_handle topic_;
  std::uintptr_t first_ = 1;  ///< the numbers of the messages of the running call begin with it
  std::uintptr_t next_ = 1;
  std::uintptr_t unreported_ = 0;
  std::optional<rd_kafka_resp_err_t> refused_;  ///< the first refusal of the running call
};

}  // namespace onceguard::messaging::kafka
