// Messages as records of Kafka, and what its brokers refuse.
#include "messaging/contract/kafka_fixture.hpp"

namespace onceguard::testing {
namespace {

using namespace std::chrono_literals;

class kafka_message : public kafka_fixture {};

constexpr int produce_request = 0;

TEST_F(kafka_message, key_headers_and_place_arrive) {
  const auto topic = broker().new_topic(1);
  auto sent = text("x", std::string("k\0y", 3));
  sent.headers = {{"a", "1"}, {"a", std::string("\0\xff", 2)}, {"empty", ""}};
  const std::vector<message> batch{sent};
  sender(topic)->publish(batch).value();
  const auto source = connect(broker().consumer_url(topic));
  const auto got = take_all(*source, 1)[0];
  EXPECT_EQ(got.received.order_key, sent.order_key);
  EXPECT_EQ(got.received.headers, sent.headers);
  EXPECT_EQ(property(got, "message_id"), "x");
  EXPECT_EQ(property(got, "record_id"), topic + "/0/0");
  EXPECT_GT(std::stoll(property(got, "sent_at")), 1'600'000'000'000);
  EXPECT_EQ(property(got, "tombstone"), "none");
}

TEST_F(kafka_message, a_record_without_a_value_is_no_empty_one) {
  const auto topic = broker().new_topic(1);
  publish_tombstone(topic, "customer-1");
  const auto source = connect(broker().consumer_url(topic));
  const auto got = take_all(*source, 1)[0];
  EXPECT_EQ(got.received.payload, "");
  EXPECT_EQ(got.received.order_key, "customer-1");
  EXPECT_EQ(property(got, "tombstone"), "yes");
  ASSERT_NE(messaging::header_of(got.received, "empty"), nullptr);
  EXPECT_EQ(*messaging::header_of(got.received, "empty"), "");
}

TEST_F(kafka_message, a_key_stays_in_its_partition) {
  const auto topic = broker().new_topic(4);
  publish_numbers(topic, 20, "customer-1");
  publish_numbers(topic, 20, "customer-1");
  const auto source = connect(broker().consumer_url(topic));
  const auto all = take_all(*source, 40);
  for (const auto& each : all) EXPECT_EQ(partition_of(each), partition_of(all.front()));
}

TEST_F(kafka_message, a_dead_letter_tells_where_it_comes_from) {
  const auto topic = broker().new_topic(1);
  const auto dead = broker().new_topic(1);
  publish_numbers(topic, 1, "customer-1");
  const auto source = connect(broker().consumer_url(topic, "&dead_letters=" + dead));
  ASSERT_TRUE(source->traits().dead_letters);
  source->dead_letter(take_all(*source, 1)[0].tag).value();
  const auto morgue = connect(broker().consumer_url(dead));
  const auto letter = take_all(*morgue, 1)[0];
  EXPECT_EQ(letter.received.payload, "0");
  EXPECT_EQ(letter.received.order_key, "customer-1");
  EXPECT_EQ(property(letter, "message_id"), "0");
  ASSERT_NE(messaging::header_of(letter.received, "onceguard-source"), nullptr);
  EXPECT_EQ(*messaging::header_of(letter.received, "onceguard-source"), topic + "/0/0");
}

TEST_F(kafka_message, a_dead_letter_that_is_refused_stays_held) {
  const auto topic = broker().new_topic(1);
  const auto dead = broker().new_topic(1);
  publish_numbers(topic, 1);
  const auto source = connect(broker().consumer_url(topic, "&dead_letters=" + dead));
  const auto got = take_all(*source, 1)[0];
  server().fail(produce_request, RD_KAFKA_RESP_ERR_INVALID_RECORD);
  const auto refused = source->dead_letter(got.tag);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, errc::conflict) << refused.error().detail;
  source->dead_letter(got.tag).value();
}

TEST_F(kafka_message, topics_for_dead_letters_must_be_there) {
  const auto topic = broker().new_topic(1);
  const auto opened =
      messaging::open_consumer(at(broker().consumer_url(topic, "&dead_letters=missing")));
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, errc::not_found) << opened.error().detail;
}

TEST_F(kafka_message, nothing_is_published_to_a_topic_that_is_missing) {
  const auto opened = messaging::open_publisher(at(server().url("missing")));
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, errc::not_found) << opened.error().detail;
}

TEST_F(kafka_message, what_the_broker_refuses_is_about_the_message) {
  const auto target = sender(broker().new_topic(1));
  const std::vector<message> batch{text("x")};
  for (const auto code : {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_INVALID_RECORD}) {
    server().fail(produce_request, code);
    const auto refused = target->publish(batch);
    ASSERT_FALSE(refused.has_value());
    EXPECT_TRUE(messaging::refuses_message(refused.error())) << refused.error().detail;
    EXPECT_EQ(refused.error().effect, effect::none);
  }
  target->publish(batch).value();  // it is as good as before
}

TEST_F(kafka_message, a_passing_failure_of_the_broker_is_not_seen) {
  const auto topic = broker().new_topic(1);
  server().fail(produce_request, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, 2);
  publish_numbers(topic, 3);
  const auto source = connect(broker().consumer_url(topic));
  EXPECT_EQ(take_all(*source, 3).size(), 3u);
  EXPECT_TRUE(take(*source, 1, 300ms).empty());
}

TEST_F(kafka_message, a_publisher_that_is_not_allowed_is_not_the_message_s_fault) {
  const auto target = sender(broker().new_topic(1));
  const std::vector<message> batch{text("x")};
  server().fail(produce_request, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  const auto refused = target->publish(batch);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, errc::broker_unreachable) << refused.error().detail;
  EXPECT_EQ(target->publish(batch).error().code, errc::broker_unreachable) << "it is of no use now";
}

TEST_F(kafka_message, a_header_needs_a_name) {
  const auto target = sender(broker().new_topic(1));
  for (const auto& name : {std::string(), std::string("a\0b", 3)}) {
    auto sent = text("x");
    sent.headers.emplace_back(name, "1");
    const std::vector<message> batch{sent};
    EXPECT_EQ(target->publish(batch).error().code, errc::invalid_argument);
  }
}

TEST_F(kafka_message, a_server_without_tls_is_out_of_reach_of_who_wants_it) {
  auto url = server().url(broker().new_topic(1));
  url.insert(url.find(':'), "+ssl");
  auto params = at(url);
  std::string why;
  for (const auto timeout : {3'000ms, 12'000ms}) {  // within which a busy server may say nothing
    params.timeout = timeout;
    const auto opened = messaging::open_publisher(params);
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, errc::broker_unreachable);
    why = opened.error().detail;
    if (why.find("SSL") != why.npos) break;
  }
  EXPECT_NE(why.find("SSL"), std::string::npos) << why;
}

TEST_F(kafka_message, a_file_that_is_missing_is_named) {
  const auto opened =
      messaging::open_publisher(at("kafka+ssl://127.0.0.1/orders?ca=/nowhere/ca.pem"));
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, errc::invalid_argument);
  EXPECT_NE(opened.error().detail.find("/nowhere/ca.pem: "), std::string::npos)
      << opened.error().detail;
}

}  // namespace
}  // namespace onceguard::testing
