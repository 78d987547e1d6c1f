// Consumes a queue of Amazon SQS.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <onceguard/broker.hpp>

#include "messaging/sqs/connection.hpp"
#include "messaging/sqs/queue_facts.hpp"

namespace onceguard::messaging::sqs {

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
class sqs_consumer final : public consumer {
 public:
  /// Finds the queue. Throws `failed`.
  sqs_consumer(const sqs_url& url, const broker_params& params);
  /// Gives back what is held, unless the last request was not answered.
  ~sqs_consumer() override;

  [[nodiscard]] const consumer_traits& traits() const noexcept override { return traits_; }
  /// Waits at the server for whole seconds, and polls it for the rest. HTTP has no connection that
  /// could be found dead while no more may be held.
  [[nodiscard]] result<std::vector<delivery>> receive(std::size_t most, milliseconds wait) override;
  [[nodiscard]] result<void> extend(std::uint64_t tag) override;
  [[nodiscard]] result<void> acknowledge(std::uint64_t tag) override;
  /// The delay is rounded up to whole seconds.
  [[nodiscard]] result<void> give_back(std::uint64_t tag, milliseconds delay) override;
  [[nodiscard]] result<void> dead_letter(std::uint64_t tag) override;
  [[nodiscard]] result<std::optional<std::uint64_t>> backlog() override;

 private:
  using time_point = connection::time_point;
  using seconds = std::chrono::seconds;

  struct held_delivery {
    std::string receipt;
    time_point received;
    time_point until;
  };

  [[nodiscard]] std::vector<delivery> receive_until(std::size_t most, time_point until);
  /// Forgets the deliveries whose hold is over.
  void forget_lost();
  /// How many more may be held, up to `most`.
  [[nodiscard]] std::size_t room_for(std::size_t most);
  /// One request for up to `most`, at most 10. Returns how many came.
  std::size_t take(std::vector<delivery>& out, std::size_t most, seconds wait);
  /// More requests while each gets all that it may.
  void take_rest(std::vector<delivery>& out, std::size_t most);
  /// Throws `failed` with errc::not_found where it is held no more.
  [[nodiscard]] held_delivery& held(std::uint64_t tag);
  void change_visibility(const held_delivery& changed, seconds visibility);
  /// Makes the request, which forgets the delivery where the server says that it is gone.
  template <class Request>
  void settle(std::uint64_t tag, const Request& request);
  void give_back_all();

  const std::size_t in_flight_;
  const bool fifo_;
  connection server_;
  const queue_facts facts_;
  const consumer_traits traits_;
  std::uint64_t next_tag_ = 1;
  std::map<std::uint64_t, held_delivery> held_;
};

/// What the queue's attributes tell.
[[nodiscard]] result<queue_report> examine_sqs_queue(const broker_params& params);

}  // namespace onceguard::messaging::sqs
