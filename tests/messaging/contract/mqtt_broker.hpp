// MQTT for the contract suite: a shared subscription for each queue, with two sessions.
#pragma once
#include <stdexcept>
#include <string>

#include <onceguard/broker.hpp>

#include "messaging/contract/broker_server.hpp"
#include "support/mosquitto_server.hpp"

namespace onceguard::testing {

class mqtt_broker final : public broker_server {
 public:
  /// With the first of the two sessions: what is published before a session is there is lost.
  [[nodiscard]] test_queue make_queue() override {
    const auto name = "queue-" + std::to_string(++made_);
    const auto shared = server_.url(name + "?group=workers&client_id=" + name);
    test_queue out{shared + "-one", server_.url(name), {}, shared + "-two"};
    messaging::broker_params params;
    params.url = out.consumer_url;
    const auto made = messaging::open_consumer(params);
    if (!made) throw std::runtime_error("no session: " + made.error().detail);
    return out;
  }
  [[nodiscard]] std::string missing_url() override {
    return server_.url("missing?client_id=missing&create=no");
  }
  /// Mosquitto confirms what it has in memory, and saves it now and then. The tests are of a crash
  /// after a save: what a server has lost no client can bring back.
  void stop() override {
    server_.save();
    server_.stop(SIGKILL);
  }
  void start() override { server_.start(); }
  void pause() override { server_.pause(); }
  void go_on() override { server_.go_on(); }

 private:
  mosquitto_server server_;
  int made_ = 0;
};

}  // namespace onceguard::testing
