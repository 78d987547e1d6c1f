// Tells the group how far its partitions are handled: one commit at a time, each with all that has
// changed meanwhile.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "messaging/kafka/assignment.hpp"
#include "messaging/kafka/join_watch.hpp"
#include "messaging/kafka/kafka_connection.hpp"

namespace onceguard::messaging::kafka {

/// What an answer to a commit says: librdkafka gives it one code only where all partitions have
/// been refused.
[[nodiscard]] rd_kafka_resp_err_t refusal_in(rd_kafka_resp_err_t code,
                                             const rd_kafka_topic_partition_list_t* list) noexcept;

class committer {
 public:
  /// All must outlive it.
  committer(connection& server, assignment& partitions, join_watch& joins, std::string topic);

  /// Takes in the answers that are there, and sends the next commit where one is due. An error that
  /// stays an error: it throws `failed`.
  void turn();
  /// Commits all that has changed, and waits for the answer until then. False: the group did not
  /// take it, or not in time.
  [[nodiscard]] bool flush(time_point until);

 private:
  /// False: it could not be sent, or must not be. True also where nothing has changed.
  bool send();
  /// Waits for an answer until then. False: there was none, or it was a refusal.
  bool read_answer(time_point until);
  void note_refusal(rd_kafka_resp_err_t code, const rd_kafka_topic_partition_list_t* list);

  connection& server_;
  assignment& partitions_;
  join_watch& joins_;
  const std::string topic_;
  const queue_handle answers_;
  bool running_ = false;
  std::size_t longest_note_;
  time_point again_at_{};
  std::optional<error> fault_;
};

}  // namespace onceguard::messaging::kafka
