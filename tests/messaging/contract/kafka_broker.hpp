// Kafka for the contract suite: topics of one partition, and of four where consumers come and go.
#pragma once
#include <string>

#include "messaging/contract/broker_server.hpp"
#include "support/kafka_server.hpp"

namespace onceguard::testing {

class kafka_broker final : public broker_server {
 public:
  /// The mock forgets a member that waits for the others of its group for longer, and lets it wait
  /// for three seconds.
  static constexpr milliseconds hold{4'500};

  [[nodiscard]] test_queue make_queue() override { return make_topics(1); }
  [[nodiscard]] test_queue make_busy_queue() override { return make_topics(4); }
  [[nodiscard]] std::string missing_url() override { return consumer_url("missing"); }
  void stop() override { server_.go_down(); }
  void start() override { server_.come_up(); }
  void pause() override { server_.pause(); }
  void go_on() override { server_.go_on(); }

  [[nodiscard]] kafka_server& server() noexcept { return server_; }
  /// Its name.
  std::string new_topic(int partitions) {
    auto name = "topic" + std::to_string(++made_);
    server_.create_topic(name, partitions);
    return name;
  }

  /// A group of its own for each topic.
  [[nodiscard]] std::string consumer_url(const std::string& topic,
                                         const std::string& more = {}) const {
    return server_.url(topic, "?group=of-" + topic + "&hold=4500ms" + more);
  }

 private:
  [[nodiscard]] test_queue make_topics(int partitions) {
    const auto name = new_topic(partitions);
    const auto dead = new_topic(1);
    return {consumer_url(name, "&dead_letters=" + dead), server_.url(name), consumer_url(dead)};
  }

  kafka_server server_;
  int made_ = 0;
};

}  // namespace onceguard::testing
