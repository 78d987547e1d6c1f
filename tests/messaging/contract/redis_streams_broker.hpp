// A Redis server of the tests' own, and streams on it.
#pragma once
#include <memory>
#include <string>

#include "base/value_text.hpp"
#include "messaging/contract/broker_server.hpp"
#include "support/redis_server.hpp"

namespace onceguard::testing {

class redis_streams_server final : public broker_server {
 public:
  static constexpr milliseconds hold{2'000};
  static constexpr milliseconds patient_hold{60'000};

  [[nodiscard]] test_queue make_queue() override { return queue_held_for(hold); }
  [[nodiscard]] test_queue make_patient_queue() override { return queue_held_for(patient_hold); }
  [[nodiscard]] std::string missing_url() override { return url("missing") + "?group=workers"; }
  void stop() override { server_.stop(SIGKILL); }
  void start() override { server_.start(); }
  void pause() override { server_.pause(); }
  void go_on() override { server_.go_on(); }

  [[nodiscard]] std::string url(const std::string& stream) const {
    return server_.url() + '/' + stream;
  }
  [[nodiscard]] redis_session session() const { return server_.session(); }

 private:
  [[nodiscard]] test_queue queue_held_for(milliseconds held_for) {
    const auto stream = "queue-" + std::to_string(++made_);
    const auto consumer = url(stream) + "?group=workers&hold=" + base::duration_text(held_for);
    server_.session().run({"XGROUP", "CREATE", stream, "workers", "0", "MKSTREAM"});
    return {consumer, url(stream), {}};
  }

  // With `everysec` in place of `always`, what was confirmed within the last second may be lost.
  redis_server server_{redis_settings{"--appendonly", "yes", "--appendfsync", "always"}};
  int made_ = 0;
};

inline tested_broker redis_streams_broker() {
  return {"redis_streams", redis_streams_server::hold,
          [] { return std::make_unique<redis_streams_server>(); }};
}

}  // namespace onceguard::testing
