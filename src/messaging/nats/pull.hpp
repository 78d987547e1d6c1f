// Pull requests: the server sends messages only when it is asked for them, and each request ends
// before the next one begins.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "messaging/nats/consumer_facts.hpp"
#include "messaging/nats/nats_connection.hpp"

namespace onceguard::messaging::nats {

struct pulled {
  message_handle message;
  /// The server sent it no earlier than then. Not when it was read: between the two, this process
  /// may have been stopped.
  time_point sent;
};

class puller {
 public:
  /// Both must outlive it.
  puller(connection& server, const consumer_facts& facts);

  /// Waits until then for a message, and returns up to `batch` that are there then.
  [[nodiscard]] result<std::vector<pulled>> pull(std::size_t batch, time_point until);
  /// Waits until then for nothing but the end of the connection.
  [[nodiscard]] result<void> wait(time_point until);

 private:
  /// A request that runs.
  struct request {
    std::size_t batch = 0;
    milliseconds expires{0};
    time_point begin;
    std::vector<pulled> got;
    bool one_shot = true;  ///< ends when it has delivered what is there
  };

  [[nodiscard]] natsStatus send(const request& next);
  [[nodiscard]] result<void> collect(request& running);
  /// Reads a message that is no delivery; true: the request has ended.
  [[nodiscard]] result<bool> read_status(natsMsg* got);
  /// Ends the request, and collects what was sent for it in the meantime.
  [[nodiscard]] result<void> abandon(request& running);
  /// Finds out why there is no answer.
  [[nodiscard]] error unanswered();
  [[nodiscard]] time_point slice_end() const;

  connection& server_;
  const consumer_facts& facts_;
  /// Empty before the first request, and after one that was abandoned.
  std::optional<inbox> inbox_;
};

}  // namespace onceguard::messaging::nats
