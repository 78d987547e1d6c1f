// RabbitMQ for the contract suite: quorum queues, each with a queue for its dead letters.
#pragma once
#include <string>

#include "messaging/contract/broker_server.hpp"
#include "support/rabbitmq_server.hpp"

namespace onceguard::testing {

class rabbitmq_broker final : public broker_server {
 public:
  /// `settings` as for the server.
  explicit rabbitmq_broker(const std::string& settings = {}) : server_(settings) {}

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
  /// RabbitMQ 3.10 writes to its disk where a new quorum queue has its log only seconds after the
  /// queue was made; a crash before that loses the queue. The tests are of queues that are older.
  void stop() override {
    server_.evaluate("[dets:sync(Table) || Table <- dets:all()].");
    server_.stop();
  }
  void start() override {
    server_.start();
    // A quorum queue elects its leader after the start, and answers only half of the questions
    // until then.
    server_.evaluate("F = fun F() -> case ra:members({list_to_atom(\"%2F_" + last_ +
                     "\"), node()}) of {ok, _, _} -> ok; "
                     "_ -> receive after 20 -> ok end, F() end end, F().");
  }
  void pause() override { server_.pause(); }
  void go_on() override { server_.go_on(); }

  /// The name of the queue that make_queue has made last.
  [[nodiscard]] const std::string& last_queue() const noexcept { return last_; }
  [[nodiscard]] const rabbitmq_server& server() const noexcept { return server_; }

 private:
  rabbitmq_server server_;
  int made_ = 0;
  std::string last_;
};

}  // namespace onceguard::testing
