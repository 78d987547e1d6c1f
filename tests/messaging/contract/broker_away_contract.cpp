// Brokers that crash, hang, or are not there.
#include <set>

#include "messaging/contract/consumer_fixture.hpp"
#include "support/free_port.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

class broker_away_contract : public consumer_fixture {
 protected:
  void stop() {
    server().stop();
    stopped_ = true;
  }
  void start() {
    stopped_ = false;
    server().start();
  }
  /// The server is also the next test's.
  void TearDown() override {
    if (stopped_) start();
  }

 private:
  bool stopped_ = false;
};

TEST_P(broker_away_contract, a_crash_of_the_broker_loses_nothing_that_was_confirmed) {
  std::unique_ptr<consumer> receiver;
  std::vector<delivery> got;
  base::boot_clock::time_point held_since;  // or later
  within_the_hold([&] {
    receiver.reset();
    publish_numbers(20);
    receiver = connect();
    held_since = base::boot_now();
    got = take_all(*receiver, 10);
    for (std::size_t i = 0; i < 5; ++i) acknowledge(*receiver, got[i]);
  });
  stop();
  const auto broken = [&] {
    const auto reply = receiver->receive(100, short_wait);
    return !reply && reply.error().code == errc::broker_unreachable;
  };
  wait_until("the consumer to notice", broken);
  const auto late = receiver->acknowledge(got[7].tag).error().code;
  // Who is later than the hold knows without the broker what is lost.
  const bool over = GetParam().hold > 0ms && base::boot_now() - held_since >= GetParam().hold;
  EXPECT_TRUE(late == errc::broker_unreachable || (over && late == errc::not_found));
  const auto refused = messaging::open_consumer(at(queue_.consumer_url));
  EXPECT_EQ(refused.error().code, errc::broker_unreachable);
  start();
  const auto second = connect();
  std::set<std::string> rest;
  const auto complete = [&] {
    for (const auto& one : take(*second, 100, 1s)) {
      rest.insert(one.received.payload);
      acknowledge(*second, one);
    }
    return rest.size() >= 15;
  };
  wait_until("the rest", complete);
  for (int i = 5; i < 20; ++i) EXPECT_TRUE(rest.contains(std::to_string(i))) << i;
}

TEST_P(broker_away_contract, a_broker_that_hangs_is_out_of_reach) {
  publish_numbers(1);
  const auto receiver = connect();
  auto params = at(queue_.publisher_url);
  params.timeout = 700ms;
  std::unique_ptr<publisher> sender;
  wait_until("a broker that answers within the timeout", [&] {
    sender = messaging::open_publisher(params).value();
    return true;
  });
  server().pause();
  const auto begin = base::boot_now();
  const std::vector<message> batch{text("x", "1")};
  const auto sent = sender->publish(batch);
  const auto took = base::boot_now() - begin;
  server().go_on();
  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().code, errc::broker_unreachable);
  EXPECT_EQ(sent.error().effect, effect::unknown);
  EXPECT_LT(took, 10s);
}

TEST_P(broker_away_contract, where_nobody_listens_there_is_an_error) {
  auto url = queue_.consumer_url;
  const auto begin = url.rfind("127.0.0.1:") + 10;
  const auto end = url.find('/', begin);
  url.replace(begin, end - begin, std::to_string(free_port()));
  const auto opened = messaging::open_consumer(at(url));
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, errc::broker_unreachable) << opened.error().detail;
}

INSTANTIATE_TEST_SUITE_P(brokers, broker_away_contract, ::testing::ValuesIn(tested_brokers()),
                         [](const auto& broker) { return broker.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(broker_away_contract);

}  // namespace
}  // namespace onceguard::testing
