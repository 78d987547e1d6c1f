// What Amazon SQS alone is like: on the stand-in server.
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <onceguard/broker.hpp>

#include "base/clock.hpp"
#include "messaging/contract/sqs_broker.hpp"

namespace onceguard::testing {
namespace {

using messaging::delivery;
using messaging::message;

class sqs_test : public ::testing::Test {
 protected:
  static constexpr milliseconds patience{20'000};
  static constexpr const char* long_hold = "&hold=60s";

  static sqs_broker& broker() {
    static sqs_broker one;
    return one;
  }
  static const sqs_server& server() { return broker().server(); }

  static std::unique_ptr<messaging::consumer> open(const std::string& queue,
                                                   std::size_t in_flight = 64) {
    messaging::broker_params out;
    out.url = server().url(queue, long_hold);
    out.in_flight = in_flight;
    auto opened = messaging::open_consumer(out);
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }
  static void publish(const std::string& queue, const std::vector<message>& batch) {
    messaging::broker_params out;
    out.url = server().url(queue);
    const auto sent = messaging::open_publisher(out).value()->publish(batch);
    if (!sent) throw std::runtime_error(sent.error().detail);
  }
  static std::vector<delivery> take_all(messaging::consumer& receiver, std::size_t count) {
    std::vector<delivery> out;
    const auto until = base::boot_now() + patience;
    while (out.size() < count && base::boot_now() < until) {
      auto got = receiver.receive(count - out.size(), milliseconds(1'000));
      if (!got) throw std::runtime_error(got.error().detail);
      for (auto& each : *got) out.push_back(std::move(each));
    }
    if (out.size() != count) throw std::runtime_error("too few deliveries came");
    return out;
  }
  static message keyed(std::string payload, std::string key, std::string id = {}) {
    message out;
    out.payload = std::move(payload);
    out.order_key = std::move(key);
    if (!id.empty()) out.properties.emplace_back("message_id", std::move(id));
    return out;
  }
  static const std::string* id_of(const delivery& got) {
    return messaging::property_of(got.received, "message_id");
  }

  const std::string standard_ = broker().new_queue("", "");
  const std::string fifo_ = broker().new_queue("", ".fifo");
};

TEST_F(sqs_test, any_bytes_arrive_as_they_were_sent) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  const std::vector<std::string> payloads{all,
                                          std::string(1, '\0'),
                                          "\xff",
                                          "gr\xc3\xbc\xc3\x9f dich \xe2\x82\xac",
                                          "\xc3",
                                          "\xed\xa0\x80",
                                          "\xef\xbf\xbf",
                                          "line\r\nline\n\t",
                                          "base64",
                                          "empty",
                                          "AA=="};
  std::vector<message> batch;
  for (const auto& payload : payloads) {
    batch.push_back(keyed(payload, {}, payload));
    batch.back().headers = {{"bytes", payload}, {"nothing", ""}};
  }
  publish(standard_, batch);
  const auto receiver = open(standard_);
  std::set<std::string> got;
  for (const auto& each : take_all(*receiver, payloads.size())) {
    got.insert(each.received.payload);
    EXPECT_EQ(*messaging::header_of(each.received, "bytes"), each.received.payload);
    EXPECT_EQ(*messaging::header_of(each.received, "nothing"), "");
    EXPECT_EQ(each.received.headers.size(), 2u);
    EXPECT_EQ(*id_of(each), each.received.payload);
    EXPECT_NE(messaging::property_of(each.received, "sqs_message_id"), nullptr);
  }
  EXPECT_EQ(got, std::set<std::string>(payloads.begin(), payloads.end()));
}

TEST_F(sqs_test, a_batch_of_more_than_ten_arrives_in_one_receive) {
  std::vector<message> batch;
  for (int i = 0; i < 25; ++i) batch.push_back(keyed(std::to_string(i), {}));
  publish(standard_, batch);
  const auto receiver = open(standard_);
  EXPECT_EQ(receiver->receive(100, patience).value().size(), 25u);
}

TEST_F(sqs_test, the_limit_of_a_redrive_policy_is_read) {
  const auto policy = [](const std::string& count) {
    return R"("RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:d\",)"
           R"(\"maxReceiveCount\":)" +
           count + "}\"";
  };
  EXPECT_EQ(open(standard_)->traits().deliveries_max, 0u);
  EXPECT_EQ(open(broker().new_queue(policy("3"), ""))->traits().deliveries_max, 3u);
  const auto as_text = open(broker().new_queue(policy(R"(\"4\")"), ""));
  EXPECT_EQ(as_text->traits().deliveries_max, 4u);
  EXPECT_NE(as_text->traits().limit_name.find("maxReceiveCount"), std::string::npos);
}

TEST_F(sqs_test, what_other_programs_send_arrives) {
  server().ask("SendMessage", R"({"QueueUrl":")" + server().queue_url(standard_) +
                                  R"(","MessageBody":"plain","MessageAttributes":{)"
                                  R"("number":{"DataType":"Number","StringValue":"7"},)"
                                  R"("onceguard_encoding":{"DataType":"String",)"
                                  R"("StringValue":"rot13"}}})");
  const auto receiver = open(standard_);
  const auto got = take_all(*receiver, 1);
  EXPECT_EQ(got[0].received.payload, "plain");
  EXPECT_EQ(*messaging::header_of(got[0].received, "number"), "7");
  EXPECT_EQ(*messaging::header_of(got[0].received, "onceguard_encoding"), "rot13");
  EXPECT_EQ(id_of(got[0]), nullptr);
}

TEST_F(sqs_test, the_deduplication_id_of_another_program_is_the_message_id) {
  server().ask("SendMessage", R"({"QueueUrl":")" + server().queue_url(fifo_) +
                                  R"(","MessageBody":"x","MessageGroupId":"group",)"
                                  R"("MessageDeduplicationId":"order-17"})");
  const auto receiver = open(fifo_);
  const auto got = take_all(*receiver, 1);
  EXPECT_EQ(*id_of(got[0]), "order-17");
  EXPECT_EQ(got[0].received.order_key, "group");
}

TEST_F(sqs_test, one_message_of_a_group_is_held_at_a_time) {
  publish(fifo_, {keyed("a1", "a"), keyed("a2", "a"), keyed("b1", "b"), keyed("b2", "b")});
  const auto one = open(fifo_);
  const auto other = open(fifo_);
  auto got = take_all(*one, 2);
  std::set<std::string> first;
  for (const auto& each : got) first.insert(each.received.payload);
  EXPECT_EQ(first, (std::set<std::string>{"a1", "b1"}));
  EXPECT_TRUE(other->receive(10, milliseconds(300)).value().empty());
  const auto& done = got[0].received.order_key == "a" ? got[0] : got[1];
  EXPECT_TRUE(one->acknowledge(done.tag).has_value());
  const auto next = take_all(*other, 1);
  EXPECT_EQ(next[0].received.payload, "a2");
  EXPECT_EQ(next[0].received.order_key, "a");
}

TEST_F(sqs_test, messages_without_a_key_wait_for_no_other) {
  publish(fifo_, {keyed("1", {}), keyed("2", {}), keyed("3", {}, "id")});
  const auto receiver = open(fifo_);
  std::set<std::string> got;
  for (const auto& each : take_all(*receiver, 3)) {
    got.insert(each.received.payload);
    EXPECT_EQ(each.received.order_key, "");
    EXPECT_EQ(id_of(each) != nullptr, each.received.payload == "3");
  }
  EXPECT_EQ(got, (std::set<std::string>{"1", "2", "3"}));
}

TEST_F(sqs_test, a_fifo_queue_forgets_what_is_published_twice) {
  const std::string odd_id = "an id with spaces, and " + std::string(200, 'x');
  publish(fifo_, {keyed("1", "key", odd_id), keyed("2", "key", "2")});
  publish(fifo_, {keyed("1", "key", odd_id), keyed("2", "key", "2"), keyed("3", "key", "3")});
  const auto receiver = open(fifo_);
  for (const auto* const expected : {"1", "2", "3"}) {
    const auto got = take_all(*receiver, 1);
    EXPECT_EQ(got[0].received.payload, expected);
    EXPECT_EQ(*id_of(got[0]), got[0].received.payload == "1" ? odd_id : expected);
    EXPECT_TRUE(receiver->acknowledge(got[0].tag).has_value());
  }
}

TEST_F(sqs_test, a_queue_whose_visibility_timeout_is_zero_needs_a_hold) {
  const auto queue = broker().new_queue(R"("VisibilityTimeout":"0")", "");
  messaging::broker_params params;
  params.url = server().url(queue);
  EXPECT_EQ(messaging::open_consumer(params).error().code, errc::invalid_argument);
  EXPECT_EQ(open(queue)->traits().hold, milliseconds(60'000));
}

TEST_F(sqs_test, the_traits_are_those_of_the_queue) {
  const auto queue =
      broker().new_queue(R"("VisibilityTimeout":"45","MessageRetentionPeriod":"120")", ".fifo");
  messaging::broker_params params;
  params.url = server().url(queue);
  const auto receiver = messaging::open_consumer(params).value();
  EXPECT_EQ(receiver->traits().hold, milliseconds(45'000));
  EXPECT_EQ(receiver->traits().redelivery, milliseconds(120'000));
  EXPECT_TRUE(receiver->traits().ordered);
  EXPECT_FALSE(open(standard_)->traits().ordered);
}

}  // namespace
}  // namespace onceguard::testing
