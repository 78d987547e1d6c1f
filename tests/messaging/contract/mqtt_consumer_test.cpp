// Sessions and deliveries of MQTT on a real server, beyond the contract suite.
#include <set>

#include "messaging/contract/mqtt_fixture.hpp"

namespace onceguard::testing {
namespace {

using mqtt_consumer = mqtt_fixture;

// --- other programs -----------------------------------------------------------------------------

TEST_F(mqtt_consumer, what_another_program_publishes_has_its_id_and_properties) {
  const auto receiver = consume();
  static_cast<void>(server().run_client("mosquitto_pub", {"-t",
                                                          topic_,
                                                          "-q",
                                                          "1",
                                                          "-m",
                                                          "hello",
                                                          "-D",
                                                          "publish",
                                                          "user-property",
                                                          "message_id",
                                                          "17",
                                                          "-D",
                                                          "publish",
                                                          "user-property",
                                                          "trace",
                                                          "abc",
                                                          "-D",
                                                          "publish",
                                                          "content-type",
                                                          "text/plain",
                                                          "-D",
                                                          "publish",
                                                          "correlation-data",
                                                          "c",
                                                          "-D",
                                                          "publish",
                                                          "response-topic",
                                                          "answers"}));
  const auto got = take_one(*receiver);
  EXPECT_EQ(got.received.payload, "hello");
  EXPECT_EQ(property(got, "message_id"), "17");
  EXPECT_EQ(property(got, "content_type"), "text/plain");
  EXPECT_EQ(property(got, "correlation_data"), "c");
  EXPECT_EQ(property(got, "response_topic"), "answers");
  EXPECT_EQ(property(got, "topic"), topic_);
  EXPECT_EQ(property(got, "retained"), "none");
  ASSERT_NE(messaging::header_of(got.received, "trace"), nullptr);
  EXPECT_EQ(*messaging::header_of(got.received, "trace"), "abc");
}

TEST_F(mqtt_consumer, what_is_published_arrives_at_another_program) {
  const std::vector<std::string> session{"-t", topic_, "-q", "1", "-c", "-i", topic_, "-x", "600"};
  auto words = session;
  words.insert(words.end(), {"-E"});
  static_cast<void>(server().run_client("mosquitto_sub", words));
  message sent;
  sent.payload = "hello";
  sent.order_key = "k";
  sent.properties = {{"message_id", "17"}, {"content_type", "text/plain"}};
  sent.headers = {{"trace", "abc"}};
  ASSERT_TRUE(publish_to(server().url(topic_), {sent}).has_value());
  words = session;
  words.insert(words.end(), {"-C", "1", "-F", "%t %q %C %p %P"});
  EXPECT_EQ(server().run_client("mosquitto_sub", words),
            topic_ + " 1 text/plain hello message_id:17 order_key:k trace:abc\n");
}

TEST_F(mqtt_consumer, a_message_of_qos_0_is_received_once) {
  const auto receiver = consume();
  static_cast<void>(server().run_client("mosquitto_pub", {"-t", topic_, "-q", "0", "-m", "x"}));
  EXPECT_TRUE(receiver->acknowledge(take_one(*receiver).tag).has_value());
  publish({"y"});  // and the connection is as good as before
  EXPECT_EQ(take_one(*receiver).received.payload, "y");
}

TEST_F(mqtt_consumer, a_message_of_qos_2_is_received_as_one_of_qos_1) {
  const auto receiver = consume();
  static_cast<void>(server().run_client("mosquitto_pub", {"-t", topic_, "-q", "2", "-m", "x"}));
  const auto got = take_one(*receiver);
  EXPECT_EQ(got.received.payload, "x");
  EXPECT_TRUE(receiver->acknowledge(got.tag).has_value());
}

TEST_F(mqtt_consumer, a_retained_message_comes_with_a_new_subscription_and_says_so) {
  static_cast<void>(
      server().run_client("mosquitto_pub", {"-t", topic_, "-q", "1", "-r", "-m", "kept"}));
  {
    const auto receiver = consume();
    const auto got = take_one(*receiver);
    EXPECT_EQ(got.received.payload, "kept");
    EXPECT_EQ(property(got, "retained"), "yes");
    EXPECT_TRUE(receiver->acknowledge(got.tag).has_value());
  }
  EXPECT_TRUE(take(*consume(), 1, 500ms).empty()) << "the subscription is not a new one";
}

// --- sessions -----------------------------------------------------------------------------------

TEST_F(mqtt_consumer, messages_wait_in_the_session_of_a_consumer_that_is_away) {
  consume().reset();
  publish_numbers(0, 3);
  const auto receiver = consume();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(take_one(*receiver).received.payload, std::to_string(i));
}

TEST_F(mqtt_consumer, a_topic_comes_in_its_order_also_what_comes_again) {
  {
    const auto receiver = consume();
    EXPECT_TRUE(receiver->traits().ordered);
    publish_numbers(0, 100);
    for (int i = 0; i < 50; ++i) {
      const auto got = take_one(*receiver);
      EXPECT_EQ(got.received.payload, std::to_string(i));
      if (i < 20) {
        ASSERT_TRUE(receiver->acknowledge(got.tag).has_value());
      }
    }
  }
  publish_numbers(100, 120);
  const auto receiver = consume();
  for (int i = 20; i < 120; ++i) {
    const auto got = take_one(*receiver);
    ASSERT_EQ(got.received.payload, std::to_string(i));
    EXPECT_EQ(got.count, i < 50 ? 2u : got.count);
    ASSERT_TRUE(receiver->acknowledge(got.tag).has_value());
  }
}

TEST_F(mqtt_consumer, a_second_client_of_the_same_id_takes_the_session_over) {
  const auto first = consume();
  publish({"x"});
  const auto held = take_one(*first);
  const auto second = consume();
  const auto why = first->receive(1, 20s).error();
  EXPECT_EQ(why.code, errc::broker_unreachable);
  EXPECT_TRUE(mentions(why, "another client with the client_id")) << why.detail;
  // What the first one still says changes nothing.
  EXPECT_EQ(first->acknowledge(held.tag).error().code, errc::broker_unreachable);
  const auto got = take_one(*second);
  EXPECT_EQ(got.received.payload, "x");
  EXPECT_EQ(got.count, 2u);
  EXPECT_TRUE(second->acknowledge(got.tag).has_value());
}

TEST_F(mqtt_consumer, a_session_that_must_exist_is_none_that_this_consumer_makes) {
  for (int i = 0; i < 2; ++i) {
    const auto why = messaging::open_consumer(params_of(consumer_url("one", "&create=no"))).error();
    EXPECT_EQ(why.code, errc::not_found) << why.detail;
  }
  consume().reset();
  publish({"x"});
  EXPECT_EQ(take_one(*consume("one", "&create=no")).received.payload, "x");
}

TEST_F(mqtt_consumer, a_session_outlives_the_server) {
  mosquitto_server mortal;
  const auto params = params_of(mortal.url("t?client_id=c"));
  {
    const auto receiver = messaging::open_consumer(params).value();
    std::vector<message> batch(2);
    batch[0].payload = "0";
    batch[1].payload = "1";
    ASSERT_TRUE(publish_to(mortal.url("t"), batch).has_value());
    ASSERT_TRUE(receiver->acknowledge(take_one(*receiver).tag).has_value());
  }
  mortal.stop(SIGTERM);
  mortal.start();
  const auto receiver = messaging::open_consumer(params_of(mortal.url("t?client_id=c&create=no")));
  ASSERT_TRUE(receiver.has_value()) << receiver.error().detail;
  EXPECT_EQ(take_one(**receiver).received.payload, "1");
}

TEST_F(mqtt_consumer, a_member_of_a_group_that_is_away_gets_its_part_later) {
  const std::string group = "&group=g";
  consume("one", group).reset();
  const auto other = consume("two", group);
  EXPECT_FALSE(other->traits().ordered);
  publish_numbers(0, 10);
  std::set<std::string> all;
  for (int i = 0; i < 5; ++i) all.insert(take_one(*other).received.payload);
  const auto back = consume("one", group);
  for (int i = 0; i < 5; ++i) all.insert(take_one(*back).received.payload);
  EXPECT_EQ(all.size(), 10u);
}

// --- wildcards and keys -------------------------------------------------------------------------

TEST_F(mqtt_consumer, with_wildcards_each_topic_is_a_key) {
  const auto receiver =
      messaging::open_consumer(params_of(server().url(topic_ + "/+/x?client_id=" + topic_)))
          .value();
  const auto plain = text("1");
  message keyed;
  keyed.order_key = "k";
  ASSERT_TRUE(publish_to(server().url(topic_ + "/a/x"), {plain, keyed}).has_value());
  EXPECT_EQ(take_one(*receiver).received.order_key, topic_ + "/a/x");
  EXPECT_EQ(take_one(*receiver).received.order_key, "k");
  EXPECT_EQ(publish_to(server().url(topic_ + "/a/y"), {plain}).error().code, errc::not_found);
  const auto single = consume();
  publish({"x"});
  EXPECT_EQ(take_one(*single).received.order_key, "");
}

// --- what is given back -------------------------------------------------------------------------

TEST_F(mqtt_consumer, what_is_given_back_is_counted_until_the_connection_ends) {
  {
    const auto receiver = consume();
    publish({"x"});
    for (std::uint32_t count = 1; count <= 4; ++count) {
      const auto got = take_one(*receiver);
      EXPECT_EQ(got.count, count);
      ASSERT_TRUE(receiver->give_back(got.tag, 0ms).has_value());
      EXPECT_EQ(receiver->acknowledge(got.tag).error().code, errc::not_found);
    }
  }
  EXPECT_EQ(take_one(*consume()).count, 2u);
}

TEST_F(mqtt_consumer, others_are_received_while_one_waits_for_its_delay) {
  const auto receiver = consume();
  publish_numbers(0, 3);
  const auto first = take_one(*receiver);
  const auto begin = base::boot_now();
  ASSERT_TRUE(receiver->give_back(first.tag, 2s).has_value());
  for (int i = 1; i < 3; ++i) {
    const auto got = take_one(*receiver);
    EXPECT_EQ(got.received.payload, std::to_string(i));
    ASSERT_TRUE(receiver->acknowledge(got.tag).has_value());
  }
  const auto again = take_one(*receiver);
  EXPECT_GE(base::boot_now() - begin, 1'950ms);
  EXPECT_EQ(again.received.payload, "0");
  ASSERT_TRUE(receiver->acknowledge(again.tag).has_value());
  EXPECT_TRUE(take(*receiver, 1, 200ms).empty());
}

TEST_F(mqtt_consumer, the_server_sends_no_more_than_in_flight_until_the_first_is_settled) {
  const auto receiver = consume("one", {}, 4);
  publish_numbers(0, 10);
  std::vector<delivery> got;
  while (got.size() < 4) got.push_back(take_one(*receiver));
  for (std::size_t i = 1; i < 4; ++i) {
    ASSERT_TRUE(receiver->acknowledge(got[i].tag).has_value());
  }
  EXPECT_TRUE(take(*receiver, 10, 300ms).empty()) << "the first one's turn comes before theirs";
  ASSERT_TRUE(receiver->acknowledge(got[0].tag).has_value());
  EXPECT_FALSE(take(*receiver, 10).empty());
}

TEST_F(mqtt_consumer, in_flight_may_be_more_than_mqtt_can_say) {
  const auto receiver = consume("one", {}, 1'000'000);
  publish({"x"});
  EXPECT_EQ(take_one(*receiver).received.payload, "x");
  const auto none = messaging::open_consumer(params_of(consumer_url(), 0));
  EXPECT_EQ(none.error().code, errc::invalid_argument);
}

}  // namespace
}  // namespace onceguard::testing
