// The bytes of MQTT 5 packets, from the specification's own examples and tables; and the order of
// acknowledgements.
#include <string>

#include <gtest/gtest.h>

#include "messaging/mqtt/acknowledgements.hpp"
#include "messaging/mqtt/packets.hpp"
#include "messaging/mqtt/wire_message.hpp"

namespace onceguard::messaging::mqtt {
namespace {

using namespace std::string_literals;

std::string varint(std::size_t value) {
  std::string out;
  append_varint(out, value);
  return out;
}

TEST(mqtt_packets, numbers_of_one_to_four_bytes_are_those_of_the_specification) {
  // Section 1.5.5, table 1-1.
  EXPECT_EQ(varint(0), "\0"s);
  EXPECT_EQ(varint(127), "\x7f");
  EXPECT_EQ(varint(128), "\x80\x01");
  EXPECT_EQ(varint(16'383), "\xff\x7f");
  EXPECT_EQ(varint(16'384), "\x80\x80\x01");
  EXPECT_EQ(varint(2'097'151), "\xff\xff\x7f");
  EXPECT_EQ(varint(2'097'152), "\x80\x80\x80\x01");
  EXPECT_EQ(varint(longest_body), "\xff\xff\xff\x7f");
  for (const std::size_t value : {0u, 127u, 128u, 16'384u, 2'097'152u, 268'435'455u}) {
    const auto bytes = varint(value);
    EXPECT_EQ(reader(bytes).varint(), value);
  }
  EXPECT_THROW(static_cast<void>(reader("\x80\x80\x80\x80\x01").varint()), malformed);
}

TEST(mqtt_packets, texts_are_utf8_without_what_mqtt_forbids) {
  for (const auto& good : {""s, "a\x01\x7f"s, "\xc3\xa4"s, "\xe2\x82\xac"s, "\xf0\x9f\x98\x80"s,
                           "\xef\xbb\xbf"s, std::string(65'535, 'x')}) {
    EXPECT_TRUE(is_mqtt_text(good));
  }
  for (const auto& bad :
       {"a\0b"s, "\xff"s, "\x80"s, "\xc3"s, "\xc0\x80"s, "\xe0\x80\x80"s, "\xed\xa0\x80"s,
        "\xf4\x90\x80\x80"s, "\xf0\x9f\x98"s, std::string(65'536, 'x')}) {
    EXPECT_FALSE(is_mqtt_text(bad));
  }
}

TEST(mqtt_packets, a_connect_is_as_the_specification_has_it) {
  session_request request;
  request.client_id = "c1";
  request.keep_alive = 10;
  request.session_expiry = 604'800;
  request.receive_maximum = 64;
  request.login.emplace("me", "pass");
  EXPECT_EQ(encode(request),
            "\x10\x21\x00\x04MQTT\x05\xc0\x00\x0a\x08"
            "\x11\x00\x09\x3a\x80\x21\x00\x40"
            "\x00\x02"
            "c1"
            "\x00\x02me\x00\x04pass"s);
  request.login.reset();
  request.clean_start = true;
  request.session_expiry = 0;
  EXPECT_EQ(encode(request),
            "\x10\x12\x00\x04MQTT\x05\x02\x00\x0a\x03\x21\x00\x40\x00\x02"
            "c1"s);
}

TEST(mqtt_packets, the_other_packets_of_a_client_are_too) {
  publication sent;
  sent.topic = "a/b";
  sent.packet_id = 10;
  sent.payload = "xyz";
  sent.details.add_user("k", "v");
  EXPECT_EQ(encode(sent),
            "\x32\x12\x00\x03"
            "a/b\x00\x0a\x07\x26\x00\x01k\x00\x01vxyz"s);
  EXPECT_EQ(encode_puback(0x1234), "\x40\x02\x12\x34"s);
  EXPECT_EQ(encode_subscribe(1, "t"), "\x82\x07\x00\x01\x00\x00\x01t\x11"s);
  EXPECT_EQ(encode_pingreq(), "\xc0\x00"s);
  EXPECT_EQ(encode_disconnect(false), "\xe0\x00"s);
  EXPECT_EQ(encode_disconnect(true), "\xe0\x07\x00\x05\x11\x00\x00\x00\x00"s);
}

TEST(mqtt_packets, a_packet_that_has_not_arrived_whole_is_waited_for) {
  const auto whole = "\x40\x02\x12\x34\x40"s;
  for (std::size_t size = 0; size < 4; ++size)
    EXPECT_EQ(first_packet_frame(whole.substr(0, size)).size, 0u);
  const auto found = first_packet_frame(whole);
  EXPECT_EQ(found.size, 4u);
  EXPECT_EQ(type_of(found), packet_type::puback);
  EXPECT_EQ(decode_puback(found).packet_id, 0x1234);
  EXPECT_THROW(static_cast<void>(first_packet_frame("\x40\x80\x80\x80\x80\x01")), malformed);
}

TEST(mqtt_packets, reasons_and_properties_may_be_left_out) {
  const auto with_reason = "\x40\x03\x00\x05\x97"s;
  EXPECT_EQ(decode_puback(first_packet_frame(with_reason)).reason, 0x97);
  const auto with_words = "\x40\x0a\x00\x05\x87\x06\x1f\x00\x03why"s;
  const auto read = decode_puback(first_packet_frame(with_words));
  EXPECT_EQ(read.reason, 0x87);
  EXPECT_EQ(read.details.text(property_id::reason_string), "why");
  EXPECT_EQ(decode_disconnect(first_packet_frame("\xe0\x00"s)).reason, 0);
  EXPECT_EQ(decode_connack(first_packet_frame("\x20\x02\x00\x01"s)).reason, 1);  // MQTT 3.1.1
}

TEST(mqtt_packets, what_is_cut_off_or_unknown_is_malformed) {
  const auto publish = [](const std::string& body, int first = 0x32) {
    std::string out;
    append_packet(out, static_cast<unsigned>(first), body);
    const auto found = first_packet_frame(out);
    static_cast<void>(decode_publish(found));
  };
  const auto good = "\x00\x01t\x00\x01\x00x"s;
  EXPECT_NO_THROW(publish(good));
  for (std::size_t size = 0; size < 6; ++size)
    EXPECT_THROW(publish(good.substr(0, size)), malformed);
  EXPECT_THROW(publish(good, 0x34), malformed);                             // QoS 2
  EXPECT_THROW(publish("\x00\x00\x00\x01\x00"s), malformed);                // no topic
  EXPECT_THROW(publish("\x00\x01t\x00\x00\x00"s), malformed);               // packet id 0
  EXPECT_THROW(publish("\x00\x01t\x00\x01\x02\x7e\x00"s), malformed);       // unknown property
  EXPECT_THROW(publish("\x00\x01t\x00\x01\x05\x26\x00\x05k"s), malformed);  // cut off
  EXPECT_THROW(publish("\x00\x01t\x00\x01\x03\x26\x00\x01k"s), malformed);  // within properties
}

TEST(mqtt_packets, a_message_has_everything_again) {
  message sent;
  sent.payload = "\0\xff"s;
  sent.order_key = "k";
  sent.properties = {{"message_id", "17"},
                     {"content_type", "text/plain"},
                     {"response_topic", "a/b"},
                     {"correlation_data", "\xff\0"s},
                     {"payload_format", "1"},
                     {"topic", "not carried"},
                     {"correlation_id", "another broker's"}};
  sent.headers = {{"trace", "1"}, {"trace", "2"}, {"empty", ""}};
  publication packet;
  packet.topic = "t";
  packet.packet_id = 1;
  packet.payload = sent.payload;
  packet.details = properties_of(sent).value();
  const auto bytes = encode(packet);
  const auto got = message_of(decode_publish(first_packet_frame(bytes)));
  EXPECT_EQ(got.payload, sent.payload);
  EXPECT_EQ(got.order_key, "k");
  EXPECT_EQ(got.headers, sent.headers);
  EXPECT_EQ(*property_of(got, "message_id"), "17");
  EXPECT_EQ(*property_of(got, "content_type"), "text/plain");
  EXPECT_EQ(*property_of(got, "response_topic"), "a/b");
  EXPECT_EQ(*property_of(got, "correlation_data"), "\xff\0"s);
  EXPECT_EQ(*property_of(got, "payload_format"), "1");
  EXPECT_EQ(*property_of(got, "topic"), "t");
  EXPECT_EQ(property_of(got, "correlation_id"), nullptr);
  EXPECT_EQ(property_of(got, "retained"), nullptr);
}

TEST(mqtt_packets, what_mqtt_can_not_carry_is_refused) {
  const auto code_of = [](const std::vector<attribute>& headers,
                          const std::vector<attribute>& given, const std::string& key = {}) {
    message sent;
    sent.headers = headers;
    sent.properties = given;
    sent.order_key = key;
    const auto made = properties_of(sent);
    return made ? std::string("none") : std::string(name_of(made.error().code));
  };
  EXPECT_EQ(code_of({{"a", "b"}}, {{"message_id", "1"}}), "none");
  EXPECT_EQ(code_of({{"a", "\xff"}}, {}), "invalid_argument");
  EXPECT_EQ(code_of({{"\xff", "a"}}, {}), "invalid_argument");
  EXPECT_EQ(code_of({{"a", std::string(65'536, 'x')}}, {}), "invalid_argument");
  EXPECT_EQ(code_of({{"message_id", "1"}}, {}), "invalid_argument");
  EXPECT_EQ(code_of({{"order_key", "1"}}, {}), "invalid_argument");
  EXPECT_EQ(code_of({}, {{"message_id", "a\0"s}}), "invalid_argument");
  EXPECT_EQ(code_of({}, {{"content_type", "\xff"}}), "invalid_argument");
  EXPECT_EQ(code_of({}, {{"content_type", "a"}, {"content_type", "b"}}), "invalid_argument");
  EXPECT_EQ(code_of({}, {{"payload_format", "2"}}), "invalid_argument");
  EXPECT_EQ(code_of({}, {{"response_topic", "a/#"}}), "invalid_argument");
  EXPECT_EQ(code_of({}, {{"response_topic", ""}}), "invalid_argument");
  EXPECT_EQ(code_of({}, {{"correlation_data", std::string(65'536, 'x')}}), "invalid_argument");
  EXPECT_EQ(code_of({}, {}, "\xff"), "invalid_argument");
}

TEST(mqtt_acknowledgements, are_sent_in_the_order_of_the_arrivals) {
  using ids = std::vector<std::uint16_t>;
  acknowledgements all;
  const auto first = all.add(7);
  const auto second = all.add(3);
  const auto third = all.add(9);
  EXPECT_EQ(all.settle(third), ids{});
  EXPECT_EQ(all.settle(first), ids{7});
  const auto again = all.add(7);  // a server may use it again once it was acknowledged
  EXPECT_GT(again, third);
  EXPECT_EQ(all.settle(second), (ids{3, 9}));
  EXPECT_EQ(all.size(), 1u);
  EXPECT_EQ(all.settle(again), ids{7});
  EXPECT_EQ(all.size(), 0u);
}

TEST(mqtt_acknowledgements, a_packet_id_is_in_use_until_it_was_acknowledged) {
  acknowledgements all;
  const auto first = all.add(1);
  const auto second = all.add(2);
  EXPECT_EQ(all.add(2), 0u);
  EXPECT_EQ(all.settle(second), std::vector<std::uint16_t>{});
  EXPECT_EQ(all.add(2), 0u);
  static_cast<void>(all.settle(first));
  EXPECT_NE(all.add(2), 0u);
}

}  // namespace
}  // namespace onceguard::messaging::mqtt
