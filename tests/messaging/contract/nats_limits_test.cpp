// JetStream's own limits: what is read of them, and what it tells of messages that it gave up.
#include "messaging/broker_kind.hpp"
#include "messaging/contract/nats_fixture.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using namespace std::chrono_literals;

class nats_limits : public nats_fixture {
 protected:
  static std::string stream_with(std::int64_t most,
                                 const nats_session::stream_setter& set_stream = {}) {
    auto stream = broker().add_stream(set_stream);
    broker().session().add_consumer(stream, "reader", hold,
                                    [&](auto& config) { config.MaxDeliver = most; });
    return stream;
  }
  static messaging::queue_report report_of(const std::string& stream) {
    auto found = messaging::examine_queue(at(broker().queue_of(stream).consumer_url));
    if (!found) throw std::runtime_error(found.error().detail);
    return **found;
  }
};

TEST_F(nats_limits, max_deliver_is_read) {
  EXPECT_EQ(report_of(stream_with(-1)).traits.deliveries_max, 0u);
  const auto found = report_of(stream_with(5));
  EXPECT_EQ(found.traits.deliveries_max, 5u);
  EXPECT_NE(found.traits.limit_name.find("max_deliver"), std::string::npos);
  const auto other = connect(at(broker().queue_of(stream_with(5)).consumer_url));
  EXPECT_EQ(other->traits().deliveries_max, 5u);
}

TEST_F(nats_limits, a_stream_that_drops_what_waits_is_reported) {
  EXPECT_TRUE(report_of(stream_with(-1)).weaknesses.empty());
  const auto small = report_of(stream_with(-1, [](auto& config) { config.MaxMsgs = 100; }));
  ASSERT_EQ(small.weaknesses.size(), 1u);
  EXPECT_NE(small.weaknesses[0].first.find("discard old"), std::string::npos);
  const auto refusing = report_of(stream_with(-1, [](auto& config) {
    config.MaxMsgs = 100;
    config.Discard = js_DiscardNew;
  }));
  EXPECT_TRUE(refusing.weaknesses.empty());
}

TEST_F(nats_limits, what_the_server_gives_up_is_reported_once_by_one_of_the_consumers) {
  const auto queue = broker().queue_of(stream_with(2));
  const auto receiver = connect(at(queue.consumer_url));
  const auto other = connect(at(queue.consumer_url));
  ASSERT_TRUE(publish(queue.publisher_url, {text("a")}).has_value());
  for (const std::uint32_t count : {1u, 2u}) {
    const auto got = take_one(*receiver);
    ASSERT_EQ(got.count, count);
    ASSERT_TRUE(receiver->give_back(got.tag, 0ms).has_value());
  }
  std::vector<messaging::dropped_message> all;
  wait_until("the advisory", [&] {
    static_cast<void>(receiver->receive(1, 20ms));
    for (auto* one : {receiver.get(), other.get()}) {
      for (auto& lost : one->take_dropped()) {
        all.push_back(std::move(lost));
      }
    }
    return !all.empty();
  });
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "stream sequence 1");
  EXPECT_TRUE(receiver->take_dropped().empty());
}

}  // namespace
}  // namespace onceguard::testing
