// Sends messages to a queue of Amazon SQS.
#pragma once
#include <span>
#include <string>
#include <vector>

#include <onceguard/broker.hpp>

#include "messaging/sqs/queue_facts.hpp"
#include "messaging/sqs/sqs_connection.hpp"
#include "messaging/sqs/wire_message.hpp"

namespace onceguard::messaging::sqs {

/// Of a batch, Amazon may take some messages and refuse others; these are sent again within the
/// timeout, where that may help. So in a FIFO queue a message may fall behind later ones of its
/// key.
class sqs_publisher final : public publisher {
 public:
  /// Finds the queue. Throws `failed`.
  sqs_publisher(const sqs_url& url, const broker_params& params);

  [[nodiscard]] result<void> publish(std::span<const message> batch) override;
  [[nodiscard]] std::vector<publication> progress() const override { return progress_; }

 private:
  using time_point = connection::time_point;
  using outgoing_list = std::span<const outgoing_message>;

  [[nodiscard]] std::vector<outgoing_message> outgoing(std::span<const message> batch) const;
  /// The begin of `rest` that fits into one request.
  [[nodiscard]] outgoing_list one_request(outgoing_list rest) const;
  /// The first message has this position in the batch.
  void send(outgoing_list request, std::size_t first_position, time_point until);

  const bool fifo_;
  connection server_;
  const queue_facts facts_;
  std::vector<publication> progress_;  ///< of the batch
};

}  // namespace onceguard::messaging::sqs
