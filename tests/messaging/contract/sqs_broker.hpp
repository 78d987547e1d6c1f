// Amazon SQS for the contract suite: standard queues, and FIFO queues.
#pragma once
#include <memory>
#include <string>

#include "messaging/contract/broker_server.hpp"
#include "support/sqs_server.hpp"

namespace onceguard::testing {

class sqs_broker final : public broker_server {
 public:
  static constexpr milliseconds hold{2'000};

  /// `ending`: of the queues' names, ".fifo" of FIFO queues.
  explicit sqs_broker(std::string ending = {}) : ending_(std::move(ending)) {}

  [[nodiscard]] test_queue make_queue() override { return queue_held_for("2"); }
  [[nodiscard]] test_queue make_patient_queue() override { return queue_held_for("60"); }
  [[nodiscard]] std::string missing_url() override { return server_.url("missing" + ending_); }
  void stop() override { server_.stop(); }
  void start() override { server_.start(); }
  void pause() override { server_.pause(); }
  void go_on() override { server_.go_on(); }

  [[nodiscard]] sqs_server& server() noexcept { return server_; }
  /// Its name.
  std::string new_queue(const std::string& attributes, const std::string& ending) {
    auto name = "queue" + std::to_string(++made_) + ending;
    server_.create_queue(name, attributes);
    return name;
  }
  std::string new_queue(const std::string& attributes) { return new_queue(attributes, ending_); }

 private:
  [[nodiscard]] test_queue queue_held_for(const std::string& seconds) {
    const auto name = new_queue(R"("VisibilityTimeout":")" + seconds + '"');
    return {server_.url(name), server_.url(name), {}};
  }

  const std::string ending_;
  sqs_server server_;
  int made_ = 0;
};

}  // namespace onceguard::testing
