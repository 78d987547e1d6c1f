// What the suites of PostgreSQL's queues share.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <onceguard/broker.hpp>

#include "base/clock.hpp"
#include "messaging/postgres_queue/queue_table.hpp"
#include "support/postgres_server.hpp"
#include "support/sql_session.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {

class postgres_queue : public ::testing::Test {
 protected:
  static constexpr milliseconds long_wait{20'000};
  static constexpr milliseconds short_wait{200};

  postgres_queue() {
    const auto made = messaging::postgres_queue::create_queue(url());
    if (!made) throw std::runtime_error("create_queue: " + made.error().detail);
  }

  [[nodiscard]] static postgres_server& server() { return postgres_server::shared(); }
  [[nodiscard]] std::string url(const std::string& more = {}) const {
    return server().url() + "?queue=" + table_ + more;
  }
  [[nodiscard]] const std::string& table() const noexcept { return table_; }

  [[nodiscard]] static messaging::broker_params params(std::string url,
                                                       std::size_t in_flight = 64) {
    messaging::broker_params out;
    out.url = std::move(url);
    out.in_flight = in_flight;
    out.timeout = long_wait;
    return out;
  }
  [[nodiscard]] std::unique_ptr<messaging::consumer> connect(const std::string& more = {},
                                                             std::size_t in_flight = 64) const {
    return checked(messaging::open_consumer(params(url(more), in_flight)));
  }
  [[nodiscard]] std::unique_ptr<messaging::publisher> sender() const {
    return checked(messaging::open_publisher(params(url())));
  }
  void publish(const std::vector<messaging::message>& batch) const {
    done(sender()->publish(batch));
  }

  [[nodiscard]] static messaging::message text(std::string payload, std::string key = {}) {
    messaging::message out;
    out.payload = std::move(payload);
    out.order_key = std::move(key);
    return out;
  }

  /// The next delivery, which must come.
  static messaging::delivery take_one(messaging::consumer& receiver) {
    auto got = checked(receiver.receive(1, long_wait));
    if (got.size() != 1) throw std::runtime_error("no delivery came");
    return std::move(got.front());
  }
  static void expect_none(messaging::consumer& receiver, milliseconds wait = short_wait) {
    EXPECT_TRUE(checked(receiver.receive(1, wait)).empty());
  }

  template <class T>
  static T checked(result<T> got) {
    if (!got) throw std::runtime_error(got.error().detail);
    return std::move(*got);
  }
  static void done(const result<void>& got) {
    if (!got) throw std::runtime_error(got.error().detail);
  }

 private:
  static std::string next_table() {
    static int count = 0;
    return "suite_" + std::to_string(++count);
  }
  const std::string table_ = next_table();
};

}  // namespace onceguard::testing
