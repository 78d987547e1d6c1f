// What the tests of JetStream share: one server, and short forms of the calls.
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
#include "messaging/contract/nats_broker.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {

class nats_fixture : public ::testing::Test {
 protected:
  static constexpr milliseconds hold = nats_broker::hold;
  static constexpr milliseconds long_wait{20'000};

  static nats_broker& broker() {
    static nats_broker all;
    return all;
  }

  static messaging::broker_params at(const std::string& url, std::size_t in_flight = 64) {
    messaging::broker_params out;
    out.url = url;
    out.in_flight = in_flight;
    return out;
  }
  static std::unique_ptr<messaging::consumer> connect(const messaging::broker_params& params) {
    auto out = messaging::open_consumer(params);
    if (!out) throw std::runtime_error("open_consumer: " + out.error().detail);
    return std::move(*out);
  }
  static std::unique_ptr<messaging::publisher> sender(const std::string& url) {
    auto out = messaging::open_publisher(at(url));
    if (!out) throw std::runtime_error("open_publisher: " + out.error().detail);
    return std::move(*out);
  }
  /// Of a consumer that can't be opened.
  static error refused(const std::string& url) {
    const auto opened = messaging::open_consumer(at(url));
    return opened ? error(errc::invalid_argument, "it was opened") : opened.error();
  }

  static messaging::message text(std::string payload, std::string id = {}) {
    messaging::message out;
    out.payload = std::move(payload);
    if (!id.empty()) out.properties.emplace_back("message_id", std::move(id));
    return out;
  }
  static result<void> publish(const std::string& url, const std::vector<messaging::message>& all) {
    return sender(url)->publish(all);
  }
  static std::vector<messaging::delivery> take(messaging::consumer& source, std::size_t most,
                                               milliseconds wait = long_wait) {
    auto got = source.receive(most, wait);
    if (!got) throw std::runtime_error("receive: " + got.error().detail);
    return std::move(*got);
  }
  /// The next delivery, which must come.
  static messaging::delivery take_one(messaging::consumer& source) {
    auto got = take(source, 1);
    if (got.size() != 1) throw std::runtime_error("no delivery came");
    return std::move(got.front());
  }
  /// What a busy machine has held for too long comes to the holder again.
  static void settle(messaging::consumer& holder, messaging::delivery got) {
    wait_until("an acknowledgement within the hold", [&] {
      if (holder.acknowledge(got.tag)) return true;
      got = take_one(holder);
      return false;
    });
  }
  static std::string property(const messaging::delivery& got, std::string_view name) {
    const auto* const value = messaging::property_of(got.received, name);
    return value == nullptr ? "none" : *value;
  }
  static std::string header(const messaging::delivery& got, std::string_view name) {
    const auto* const value = messaging::header_of(got.received, name);
    return value == nullptr ? "none" : *value;
  }
};

}  // namespace onceguard::testing
