// A consumer and a publisher of each broker, for the suites of the contract.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <onceguard/broker.hpp>

#include "base/clock.hpp"
#include "messaging/contract/broker_server.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
using namespace std::chrono_literals;
using messaging::consumer;
using messaging::delivery;
using messaging::message;
using messaging::publisher;

inline constexpr milliseconds long_wait{20'000};
inline constexpr milliseconds short_wait{50};

/// One server of each kind for the whole process: some take seconds to start.
inline broker_server& server_of(const tested_broker& broker) {
  static std::map<std::string, std::unique_ptr<broker_server>> all;
  auto& found = all[broker.name];
  if (!found) found = broker.begin();
  return *found;
}

inline message text(std::string payload, std::string id = {}) {
  message out;
  out.payload = std::move(payload);
  if (!id.empty()) out.properties.emplace_back("message_id", std::move(id));
  return out;
}

inline messaging::broker_params at(const std::string& url, std::size_t in_flight = 64) {
  messaging::broker_params out;
  out.url = url;
  out.in_flight = in_flight;
  return out;
}

class consumer_fixture : public ::testing::TestWithParam<tested_broker> {
 protected:
  [[nodiscard]] broker_server& server() const { return server_of(GetParam()); }

  [[nodiscard]] std::unique_ptr<consumer> connect(std::size_t in_flight = 64) const {
    auto out = messaging::open_consumer(at(queue_.consumer_url, in_flight));
    if (!out) throw std::runtime_error("open_consumer: " + out.error().detail);
    return std::move(*out);
  }
  /// Beside one that connect has opened.
  [[nodiscard]] std::unique_ptr<consumer> connect_other(std::size_t in_flight = 64) const {
    auto out = messaging::open_consumer(at(queue_.other_url(), in_flight));
    if (!out) throw std::runtime_error("open_consumer: " + out.error().detail);
    return std::move(*out);
  }

  void publish(const std::vector<message>& batch) const {
    auto sender = messaging::open_publisher(at(queue_.publisher_url));
    if (!sender) throw std::runtime_error("open_publisher: " + sender.error().detail);
    const auto sent = (*sender)->publish(batch);
    if (!sent) throw std::runtime_error("publish: " + sent.error().detail);
  }
  void publish_numbers(int count) const {
    std::vector<message> batch;
    for (int i = 0; i < count; ++i) batch.push_back(text(std::to_string(i), std::to_string(i)));
    publish(batch);
  }

  static std::vector<delivery> take(consumer& receiver, std::size_t most, milliseconds wait) {
    auto got = receiver.receive(most, wait);
    if (!got) throw std::runtime_error("receive: " + got.error().detail);
    return std::move(*got);
  }
  /// The next delivery, which must come.
  static delivery take_one(consumer& receiver) {
    auto got = take(receiver, 1, long_wait);
    if (got.size() != 1) throw std::runtime_error("no delivery came");
    return std::move(got.front());
  }
  /// As many deliveries, which must come.
  static std::vector<delivery> take_all(consumer& receiver, std::size_t count) {
    std::vector<delivery> out;
    const auto until = base::boot_now() + long_wait;
    while (out.size() < count && base::boot_now() < until) {
      for (auto& one : take(receiver, count - out.size(), 1s)) out.push_back(std::move(one));
    }
    if (out.size() != count) throw std::runtime_error("too few deliveries came");
    return out;
  }
  static void expect_none(consumer& receiver, milliseconds wait = 500ms) {
    EXPECT_TRUE(take(receiver, 1, wait).empty());
  }
  static void acknowledge(consumer& holder, const delivery& done) {
    const auto reply = holder.acknowledge(done.tag);
    if (!reply) throw std::runtime_error("acknowledge: " + reply.error().detail);
  }

  /// Sets up a queue whose holds end. Where a busy machine is too late for one, it begins anew.
  void within_the_hold(const std::function<void()>& set_up) {
    wait_until("what has to be done within the hold", [&] {
      queue_ = server().make_queue();
      set_up();
      return true;
    });
  }

  test_queue queue_ = server().make_patient_queue();
};

}  // namespace onceguard::testing
