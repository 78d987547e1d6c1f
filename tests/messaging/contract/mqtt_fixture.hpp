// A topic of each test's own on one Mosquitto server, and short forms of the calls.
#pragma once
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <onceguard/broker.hpp>

#include "base/clock.hpp"
#include "support/mosquitto_server.hpp"

namespace onceguard::testing {
using namespace std::chrono_literals;

class mqtt_fixture : public ::testing::Test {
 protected:
  using delivery = messaging::delivery;
  using message = messaging::message;
  using consumer_ptr = std::unique_ptr<messaging::consumer>;

  static mosquitto_server& server() {
    static mosquitto_server shared;
    return shared;
  }
  static messaging::broker_params params_of(const std::string& url, std::size_t in_flight = 64) {
    messaging::broker_params out;
    out.url = url;
    out.in_flight = in_flight;
    return out;
  }
  /// Of this test's own topic.
  [[nodiscard]] std::string consumer_url(const std::string& id = "one",
                                         const std::string& more = {}) const {
    return server().url(topic_ + "?client_id=" + topic_ + '-' + id + more);
  }
  [[nodiscard]] consumer_ptr consume(const std::string& id = "one", const std::string& more = {},
                                     std::size_t in_flight = 64) const {
    auto opened = messaging::open_consumer(params_of(consumer_url(id, more), in_flight));
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }
  static result<void> publish_to(const std::string& url, const std::vector<message>& batch) {
    auto opened = messaging::open_publisher(params_of(url));
    if (!opened) return opened.error();
    return (*opened)->publish(batch);
  }
  void publish(const std::vector<std::string>& payloads) const {
    std::vector<message> batch;
    for (const auto& one : payloads) batch.push_back(text(one));
    const auto done = publish_to(server().url(topic_), batch);
    if (!done) throw std::runtime_error(done.error().detail);
  }
  void publish_numbers(int begin, int end) const {
    std::vector<std::string> all;
    for (int i = begin; i < end; ++i) all.push_back(std::to_string(i));
    publish(all);
  }
  static std::vector<delivery> take(messaging::consumer& receiver, std::size_t most,
                                    milliseconds wait = 20s) {
    auto got = receiver.receive(most, wait);
    if (!got) throw std::runtime_error(got.error().detail);
    return std::move(*got);
  }
  static delivery take_one(messaging::consumer& receiver) {
    auto got = take(receiver, 1);
    if (got.size() != 1) throw std::runtime_error("no delivery came");
    return std::move(got.front());
  }
  static std::string property(const delivery& got, std::string_view name) {
    const auto* const value = messaging::property_of(got.received, name);
    return value == nullptr ? "none" : *value;
  }
  static message text(std::string payload) {
    message out;
    out.payload = std::move(payload);
    return out;
  }
  static bool mentions(const error& why, std::string_view words) {
    return why.detail.find(words) != std::string::npos;
  }

  const std::string topic_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

}  // namespace onceguard::testing
