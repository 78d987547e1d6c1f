// Consumes a topic of Kafka, as a member of a group.
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "messaging/holding_consumer.hpp"
#include "messaging/kafka/assignment.hpp"
#include "messaging/kafka/committer.hpp"
#include "messaging/kafka/kafka_connection.hpp"
#include "messaging/kafka/kafka_url.hpp"

namespace onceguard::messaging::kafka {

/// The group gives each partition to one consumer. A record is held as long as its partition is: in
/// a rebalance the group takes partitions away, and what was not acknowledged of them is delivered
/// to another consumer, while this one's settlements of it are refused.
///
/// Acknowledgements are committed in bundles, twenty times a second at most; a crash brings again
/// what was acknowledged within that time, or amid a rebalance. The commit holds the
/// offset before which all is done, and in its note what is done behind it.
///
/// A consumer that makes no call for `hold` is taken for dead by librdkafka, and one that sends
/// nothing for as long by the group: extend() counts as a call.
class kafka_consumer final : public holding_consumer<record> {
 public:
  /// Finds the topic, and asks to become a member. Throws `failed`.
  kafka_consumer(const kafka_url& url, const broker_params& params);
  /// Commits what is done, and leaves the group.
  ~kafka_consumer() override;

  [[nodiscard]] const consumer_traits& traits() const noexcept override { return traits_; }

 private:
  /// What happened meanwhile: rebalances, errors, answers to commits.
  void catch_up() override;
  [[nodiscard]] std::vector<delivery> fetch(std::size_t most, moment until) override;
  [[nodiscard]] moment prolong(record& /*held*/, moment end) override { return end; }
  void confirm(std::uint64_t tag, record& done) override;
  /// The record waits here. While it does, the records behind it go on.
  void put_back(std::uint64_t tag, record& held, milliseconds delay) override;
  /// A copy goes to the topic of dead letters, with the header `onceguard-source`.
  void bury(std::uint64_t tag, record& dead) override;
  /// Of the partitions that this consumer has: the group's is the sum over its consumers.
  [[nodiscard]] std::optional<std::uint64_t> count_waiting() override;
  [[nodiscard]] error refusal(errc code, std::string_view words) const override {
    return server_.refusal(code, words);
  }

  void subscribe();
  void configure(rd_kafka_conf_t* conf);
  void take(std::vector<delivery>& out, std::size_t most);
  [[nodiscard]] bool may_read() const;
  void wait_for_more(bool has_room, time_point until);
  /// Keeps a record for the next call of take, or notes the error that it is.
  void keep(message_handle next);
  [[nodiscard]] delivery hand_out(record next);
  void serve_events();
  void forget_all();
  void publish_dead_letter(const rd_kafka_message_t& record);

  void rebalance(rd_kafka_resp_err_t change, rd_kafka_topic_partition_list_t* list);
  void add_partitions(rd_kafka_topic_partition_list_t* list);
  /// One of which the group has committed nothing.
  void begin_partition(rd_kafka_topic_partition_t& begun);
  void remove_partitions(const rd_kafka_topic_partition_list_t* list);
  /// Does the client know how the group assigns?
  [[nodiscard]] bool has_protocol() const;
  /// Waits until it may. False: it may not, for too long.
  [[nodiscard]] bool may_be_destroyed();
  /// False: it takes too long.
  [[nodiscard]] bool leave();

  const kafka_url url_;
  const broker_params params_;
  const consumer_traits traits_;
  std::unique_ptr<join_watch> joins_;
  connection server_;
  const queue_handle records_;  ///< of all partitions, apart from what else happens
  assignment partitions_;
  committer commits_;
  std::deque<message_handle> early_;
  std::optional<error> fault_;
  std::unique_ptr<publisher> letters_;
  time_point seen_ = base::boot_now();  ///< when this process was last known to run
  bool assigned_once_ = false;
};

}  // namespace onceguard::messaging::kafka
