// RabbitMQ for the contract suite: quorum queues, each with a queue for its dead letters.
#pragma once
#include <string>
#include <vector>

#include "messaging/contract/broker_server.hpp"
#include "support/rabbitmq_server.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {

class rabbitmq_broker final : public broker_server {
 public:
  [[nodiscard]] test_queue make_queue() override {
    const auto name = "queue-" + std::to_string(++made_);
    const auto dead = name + "-dead";
    auto session = server_.session();
    session.declare_queue(dead, {});
    session.declare_queue(name, {{"x-queue-type", "quorum"},
                                 {"x-dead-letter-exchange", ""},
                                 {"x-dead-letter-routing-key", dead}});
    last_ = name;
    return {server_.url(name) + "?dead_letters=yes", server_.url(name), server_.url(dead)};
  }
  [[nodiscard]] std::string missing_url() override { return server_.url("missing"); }
  void stop() override { server_.stop(); }
  void start() override {
    server_.start();
    // A quorum queue elects its leader after the start.
    wait_until("the queue's leader", [this] {
      static_cast<void>(server_.session().waiting(last_));
      return true;
    });
  }
  void pause() override { server_.pause(); }
  void go_on() override { server_.go_on(); }

  [[nodiscard]] const rabbitmq_server& server() const noexcept { return server_; }

 private:
  rabbitmq_server server_;
  int made_ = 0;
  std::string last_;
};

}  // namespace onceguard::testing
