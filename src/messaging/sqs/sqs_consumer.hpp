// Consumes a queue of Amazon SQS.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <onceguard/broker.hpp>

#include "messaging/holding_consumer.hpp"
#include "messaging/sqs/queue_facts.hpp"
#include "messaging/sqs/sqs_connection.hpp"

namespace onceguard::messaging::sqs {

/// What names a delivery to Amazon SQS.
struct sqs_receipt {
  std::string handle;
  base::boot_clock::time_point received;
};

/// A delivery is held while its hold is not over on this machine's clock. Afterwards no call is
/// made for it: a standard queue may take its receipt although another consumer has the message by
/// then. Amazon counts holds in whole seconds, and lets none last longer than 12 hours with all
/// that extend adds: then extend fails with errc::conflict.
///
/// traits().dead_letters is false: there is no request for it. A queue with a redrive policy moves
/// a message away by itself when it would be received once more than `maxReceiveCount` says, by
/// whatever consumer, also where the consumer died at once. That number should exceed the attempts
/// after which the consumer gives up, or Amazon does so first.
///
/// traits().ordered is true for FIFO queues: while a message of a group is held, no other consumer
/// gets one of that group.
class sqs_consumer final : public holding_consumer<sqs_receipt> {
 public:
  /// Finds the queue. Throws `failed`.
  sqs_consumer(const sqs_url& url, const broker_params& params);
  /// Gives back what is held, unless the last request was not answered.
  ~sqs_consumer() override;

  [[nodiscard]] const consumer_traits& traits() const noexcept override { return traits_; }

 private:
  using seconds = std::chrono::seconds;

  /// Waits at the server for whole seconds, and polls it for the rest. HTTP has no connection that
  /// could be found dead while no more may be held.
  [[nodiscard]] std::vector<delivery> fetch(std::size_t most, moment until) override;
  [[nodiscard]] moment prolong(sqs_receipt& receipt, moment end) override;
  void confirm(std::uint64_t tag, sqs_receipt& receipt) override;
  /// The delay is rounded up to whole seconds.
  void put_back(std::uint64_t tag, sqs_receipt& receipt, milliseconds delay) override;
  [[nodiscard]] std::optional<std::uint64_t> count_waiting() override;
  [[nodiscard]] error refusal(errc code, std::string_view words) const override;

  /// One request for up to `most`, at most 10. Returns how many came.
  std::size_t take(std::vector<delivery>& out, std::size_t most, seconds wait);
  /// More requests while each gets all that it may.
  void take_rest(std::vector<delivery>& out, std::size_t most);
  void change_visibility(const sqs_receipt& changed, seconds visibility);
  void give_back_all();

  const bool fifo_;
  connection server_;
  const queue_facts facts_;
  const consumer_traits traits_;
};

/// What the queue's attributes tell.
[[nodiscard]] result<queue_report> examine_sqs_queue(const broker_params& params);

}  // namespace onceguard::messaging::sqs
