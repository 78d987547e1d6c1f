// What the tests of Kafka share: one server, and short forms of the calls.
#pragma once
#include <array>
#include <chrono>
#include <librdkafka/rdkafka.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <onceguard/broker.hpp>

#include "base/clock.hpp"
#include "messaging/contract/kafka_broker.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {

class kafka_fixture : public ::testing::Test {
 protected:
  using consumer = messaging::consumer;
  using delivery = messaging::delivery;
  using message = messaging::message;

  static constexpr milliseconds hold = kafka_broker::hold;
  static constexpr milliseconds long_wait{20'000};

  static kafka_broker& broker() {
    static kafka_broker all;
    return all;
  }
  static kafka_server& server() { return broker().server(); }

  static messaging::broker_params at(const std::string& url, std::size_t in_flight = 64) {
    messaging::broker_params out;
    out.url = url;
    out.in_flight = in_flight;
    return out;
  }
  static std::unique_ptr<consumer> connect(const std::string& url, std::size_t in_flight = 64) {
    auto out = messaging::open_consumer(at(url, in_flight));
    if (!out) throw std::runtime_error("open_consumer: " + out.error().detail);
    return std::move(*out);
  }
  static std::unique_ptr<messaging::publisher> sender(const std::string& topic) {
    auto out = messaging::open_publisher(at(server().url(topic)));
    if (!out) throw std::runtime_error("open_publisher: " + out.error().detail);
    return std::move(*out);
  }

  static message text(std::string payload, std::string key = {}) {
    message out;
    out.properties.emplace_back("message_id", payload);
    out.payload = std::move(payload);
    out.order_key = std::move(key);
    return out;
  }
  /// Messages "0", "1" …
  static void publish_numbers(const std::string& topic, int count, const std::string& key = {}) {
    std::vector<message> batch;
    for (int i = 0; i < count; ++i) batch.push_back(text(std::to_string(i), key));
    const auto sent = sender(topic)->publish(batch);
    if (!sent) throw std::runtime_error("publish: " + sent.error().detail);
  }
  /// As another program sends it: without a value, and with one header without one.
  static void publish_tombstone(const std::string& topic, const std::string& key) {
    char why[512]{};
    auto* const conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", server().servers().c_str(), why, sizeof why);
    auto* const client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why);
    auto* const headers = rd_kafka_headers_new(1);
    rd_kafka_header_add(headers, "empty", -1, nullptr, 0);
    std::array<rd_kafka_vu_t, 4> all{};
    all[0].vtype = RD_KAFKA_VTYPE_TOPIC;
    all[0].u.cstr = topic.c_str();
    all[1].vtype = RD_KAFKA_VTYPE_VALUE;
    all[2].vtype = RD_KAFKA_VTYPE_KEY;
    all[2].u.mem = {const_cast<char*>(key.data()), key.size()};
    all[3].vtype = RD_KAFKA_VTYPE_HEADERS;
    all[3].u.headers = headers;
    auto* const refused = rd_kafka_produceva(client, all.data(), all.size());
    rd_kafka_flush(client, long_wait.count());
    rd_kafka_destroy(client);
    if (refused != nullptr) throw std::runtime_error("the tombstone was not taken");
  }

  static std::vector<delivery> take(consumer& source, std::size_t most,
                                    milliseconds wait = long_wait) {
    auto got = source.receive(most, wait);
    if (!got) throw std::runtime_error("receive: " + got.error().detail);
    return std::move(*got);
  }
  /// As many deliveries, which must come.
  static std::vector<delivery> take_all(consumer& source, std::size_t count) {
    std::vector<delivery> out;
    wait_until("deliveries", [&] {
      for (auto& one : take(source, count - out.size(), milliseconds(200))) {
        out.push_back(std::move(one));
      }
      return out.size() == count;
    });
    return out;
  }
  static std::vector<std::string> payloads_of(const std::vector<delivery>& all) {
    std::vector<std::string> out;
    for (const auto& each : all) out.push_back(each.received.payload);
    return out;
  }
  static std::string property(const delivery& got, std::string_view name) {
    const auto* const value = messaging::property_of(got.received, name);
    return value == nullptr ? "none" : *value;
  }
  /// "PARTITION" of its record_id.
  static std::string partition_of(const delivery& got) {
    const auto position = property(got, "record_id");
    const auto first = position.find('/');
    return position.substr(first + 1, position.rfind('/') - first - 1);
  }
};

}  // namespace onceguard::testing
