// Queues in tables of a PostgreSQL server.
#pragma once
#include <signal.h>
#include <stdexcept>

#include "messaging/contract/broker_server.hpp"
#include "messaging/postgres_queue/queue_table.hpp"
#include "support/postgres_server.hpp"

namespace onceguard::testing {

class postgres_queue_server final : public broker_server {
 public:
  static constexpr milliseconds hold{2'000};

  [[nodiscard]] test_queue make_queue() override { return queue_held_for("2s"); }
  [[nodiscard]] test_queue make_patient_queue() override { return queue_held_for("60s"); }
  [[nodiscard]] std::string missing_url() override { return server_.url() + "?queue=missing"; }
  /// The server's way to crash: with SIGKILL its first process leaves the others behind.
  void stop() override { server_.stop(SIGQUIT); }
  void start() override { server_.start(); }
  void pause() override { server_.pause(); }
  void go_on() override { server_.go_on(); }

 private:
  [[nodiscard]] test_queue queue_held_for(const std::string& held_for) {
    const auto url = server_.url() + "?queue=queue_" + std::to_string(++count_);
    const auto made = messaging::postgres_queue::create_queue(url);
    if (!made) throw std::runtime_error("create_queue: " + made.error().detail);
    return {url + "&hold=" + held_for, url, url + "&dead=yes"};
  }

  postgres_server server_;
  int count_ = 0;
};

}  // namespace onceguard::testing
