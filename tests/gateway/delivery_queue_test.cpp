// What becomes of each of several deliveries that are published at once.
#include "gateway/delivery_queue.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "base/rethrow.hpp"
#include "messaging/broker_kind.hpp"

namespace onceguard::gateway {
namespace {

namespace asio = boost::asio;
using messaging::broker_params;
using messaging::message;

/// What the broker below has, and whether it is to answer.
struct picky_broker {
  std::mutex mutex;
  std::condition_variable changed;
  bool answers = false;
  std::vector<std::string> stored;
};

picky_broker& the_broker() {
  static picky_broker one;
  return one;
}

/// Refuses each batch with a message that is called "refused".
class picky_publisher final : public messaging::publisher {
 public:
  [[nodiscard]] result<void> publish(std::span<const message> batch) override {
    auto& broker = the_broker();
    std::unique_lock lock(broker.mutex);
    broker.changed.wait(lock, [&] { return broker.answers; });
    const bool bad = std::any_of(batch.begin(), batch.end(),
                                 [](const message& one) { return one.payload == "refused"; });
    if (bad) return error(errc::conflict, "one that nobody takes");
    for (const auto& one : batch) broker.stored.push_back(one.payload);
    return {};
  }
};

const std::array<std::string_view, 1> schemes{"picky"};
const messaging::broker_kind kind{
    .schemes = schemes,
    .consumer_example = {},
    .publisher_example = "picky://broker/QUEUE",
    .url_fault = [](std::string_view, messaging::broker_role) { return std::string(); },
    .open_publisher = [](const broker_params&) -> result<std::unique_ptr<messaging::publisher>> {
      return std::unique_ptr<messaging::publisher>(new picky_publisher);
    },
};
const messaging::broker_registration registration(kind);

TEST(delivery_queue_test, each_delivery_of_a_batch_gets_its_own_answer) {
  asio::io_context io;
  delivery_queue queue("picky://broker/q");
  std::map<std::string, result<void>> answers;
  const auto publish = [&](std::string payload) -> asio::awaitable<void> {
    message sent;
    sent.payload = payload;
    answers.insert_or_assign(payload,
                             co_await queue.publish(std::move(sent), milliseconds(60'000)));
  };
  for (const auto* payload : {"first", "second", "refused", "last"}) {
    asio::co_spawn(io, publish(payload), base::rethrow);
  }
  io.poll();  // all of them wait now, while the broker does not answer the first
              // ones
  {
    const std::lock_guard lock(the_broker().mutex);
    the_broker().answers = true;
  }
  the_broker().changed.notify_all();
  io.run();
  ASSERT_EQ(answers.size(), 4u);
  for (const auto* payload : {"first", "second", "last"}) {
    EXPECT_TRUE(answers.at(payload)) << payload;
    EXPECT_EQ(std::count(the_broker().stored.begin(), the_broker().stored.end(), payload), 1);
  }
  ASSERT_FALSE(answers.at("refused"));
  EXPECT_EQ(answers.at("refused").error().code, errc::conflict);
}

}  // namespace
}  // namespace onceguard::gateway
