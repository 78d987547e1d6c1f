// What consumers and publishers of MQTT send, byte by byte, and what they make of servers that
// answer what Mosquitto does not.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <onceguard/broker.hpp>

#include "base/clock.hpp"
#include "messaging/contract/mqtt_script.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using messaging::message;
using packet = mqtt_script::packet;

constexpr int connect = 1, publish = 3, puback = 4, subscribe = 8, pingreq = 12, disconnect = 14;

class mqtt_protocol : public ::testing::Test {
 protected:
  static messaging::broker_params params_of(const std::string& url, milliseconds timeout = 10s) {
    messaging::broker_params out;
    out.url = url;
    out.timeout = timeout;
    return out;
  }
  static std::unique_ptr<messaging::consumer> consume(const mqtt_script& server,
                                                      milliseconds timeout = 10s) {
    return messaging::open_consumer(params_of(server.consumer_url(), timeout)).value();
  }
  static error consumer_refusal(const std::string& connack, const std::string& more = {},
                                const std::string& suback = mqtt_suback(1)) {
    const mqtt_script server([&](const packet& got) {
      return got.type == connect ? connack : got.type == subscribe ? suback : "";
    });
    const auto opened = messaging::open_consumer(params_of(server.consumer_url(more)));
    return opened ? error(errc::stopped, "it was opened") : opened.error();
  }
  /// The answers of a server that takes a consumer, and sends it `messages`.
  static mqtt_script::answerer sending(std::string messages) {
    return [messages = std::move(messages)](const packet& got) {
      if (got.type == connect) return mqtt_connack(false, 0);
      return got.type == subscribe ? mqtt_suback(1) + messages : std::string();
    };
  }
  static mqtt_script::answerer confirming(int reason, const std::string& properties = {}) {
    return [=](const packet& got) {
      if (got.type == connect) return mqtt_connack(false, 0, properties);
      return got.type == publish ? mqtt_puback(got.packet_id(), reason) : std::string();
    };
  }
  static std::vector<messaging::delivery> take(messaging::consumer& receiver, std::size_t count) {
    std::vector<messaging::delivery> out;
    wait_until("deliveries", [&] {
      for (auto& one : receiver.receive(count, 1s).value()) out.push_back(std::move(one));
      return out.size() >= count;
    });
    return out;
  }
  static result<void> publish_texts(const mqtt_script& server, const std::vector<std::string>& all,
                                    milliseconds timeout = 10s) {
    std::vector<message> batch;
    for (const auto& text : all) batch.emplace_back().payload = text;
    return messaging::open_publisher(params_of(server.publisher_url(), timeout))
        .value()
        ->publish(batch);
  }
  static std::string ids_of(const std::vector<packet>& all) {
    std::string out;
    for (const auto& one : all) out += one.packet_id();
    return out;
  }
};

// --- the session --------------------------------------------------------------------------------

TEST_F(mqtt_protocol, a_consumer_asks_for_a_session_that_lasts_and_for_no_more_than_it_may_hold) {
  const mqtt_script server(sending({}));
  auto params = params_of(server.consumer_url());
  params.in_flight = 300;
  messaging::open_consumer(params).value().reset();
  const auto all = server.packets();
  ASSERT_EQ(all.size(), 3u);
  // No clean start; a keep-alive of 300 s; a session of 604800 s; a Receive Maximum of 300.
  EXPECT_EQ(all[0].body,
            "\x00\x04MQTT\x05\x00\x01\x2c\x08\x11\x00\x09\x3a\x80\x21\x01\x2c"
            "\x00\x01"
            "c"s);
  EXPECT_EQ(all[1].body, "\x00\x01\x00\x00\x01t\x11"s);
  EXPECT_EQ(all[2].type, disconnect);
  EXPECT_EQ(all[2].body, "");  // which keeps the session
}

TEST_F(mqtt_protocol, a_publisher_leaves_no_session) {
  const mqtt_script server(confirming(0));
  ASSERT_TRUE(publish_texts(server, {"x"}).has_value());
  const auto begun = server.packets(connect);
  ASSERT_EQ(begun.size(), 1u);
  EXPECT_EQ(begun[0].body.substr(7, 3), "\x02\x00\x00"s);  // a clean start and no keep-alive
  EXPECT_EQ(begun[0].body.find('\x11'), std::string::npos);
}

TEST_F(mqtt_protocol, a_session_that_the_server_ends_earlier_is_refused_and_not_left_behind) {
  const auto connack = mqtt_connack(false, 0, "\x11\x00\x00\x00\x3c"s);
  const mqtt_script server(
      [&](const packet& got) { return got.type == connect ? connack : std::string(); });
  const auto why = messaging::open_consumer(params_of(server.consumer_url())).error();
  EXPECT_EQ(why.code, errc::invalid_argument);
  EXPECT_NE(why.detail.find("for 60 s only"), std::string::npos) << why.detail;
  wait_until("the goodbye", [&] { return !server.packets(disconnect).empty(); });
  EXPECT_EQ(server.packets(disconnect)[0].body, "\x00\x05\x11\x00\x00\x00\x00"s);
  const auto next =
      messaging::open_consumer(params_of(server.consumer_url("&session_expiry=1m"), 2s));
  EXPECT_EQ(next.error().code, errc::broker_unreachable) << "which this server does not answer";
  EXPECT_EQ(server.packets(subscribe).size(), 1u);
}

TEST_F(mqtt_protocol, a_session_that_must_exist_and_does_not_is_not_found) {
  EXPECT_EQ(consumer_refusal(mqtt_connack(false, 0), "&create=no").code, errc::not_found);
  EXPECT_EQ(consumer_refusal(mqtt_connack(true, 0), "&create=no").detail, "it was opened");
}

TEST_F(mqtt_protocol, each_refusal_of_a_client_has_its_code_and_words) {
  struct refusal {
    std::string connack;
    errc code;
    std::string words;
  };
  for (const auto& [connack, code, words] : std::vector<refusal>{
           {mqtt_packet(0x20, "\x00\x01"s), errc::broker_unreachable, "does not speak MQTT 5"},
           {mqtt_connack(false, 0x84), errc::broker_unreachable, "does not speak MQTT 5"},
           {mqtt_connack(false, 0x85), errc::invalid_argument, "client identifier not valid"},
           {mqtt_connack(false, 0x86), errc::broker_unreachable, "bad user name or password"},
           {mqtt_connack(false, 0x88, "\x1f\x00\x05later"s), errc::broker_unreachable,
            "server unavailable (0x88): \"later\""},
           {mqtt_connack(false, 0x9d, "\x1c\x00\x02h2"s), errc::broker_unreachable,
            "server moved (0x9d): \"h2\""},
           {mqtt_connack(false, 0xf0), errc::broker_unreachable, "unknown reason (0xf0)"},
           {mqtt_connack(false, 0, "\x24\x00"s), errc::invalid_argument, "QoS 0 only"}}) {
    const auto why = consumer_refusal(connack);
    EXPECT_EQ(why.code, code) << words;
    EXPECT_NE(why.detail.find(words), std::string::npos) << why.detail;
  }
}

TEST_F(mqtt_protocol, a_subscription_that_is_refused_or_too_weak_is_an_error) {
  const auto refused = consumer_refusal(mqtt_connack(false, 0), {}, mqtt_suback(0x87));
  EXPECT_EQ(refused.code, errc::conflict);
  EXPECT_NE(refused.detail.find("not authorized"), std::string::npos) << refused.detail;
  EXPECT_EQ(consumer_refusal(mqtt_connack(false, 0), {}, mqtt_suback(0)).code,
            errc::invalid_argument);
  EXPECT_EQ(consumer_refusal(mqtt_connack(false, 0, "\x2a\x00"s), "&group=g").code,
            errc::invalid_argument);
  EXPECT_EQ(consumer_refusal(mqtt_connack(false, 0, "\x2a\x00"s)).detail, "it was opened");
}

// --- acknowledgements ---------------------------------------------------------------------------

TEST_F(mqtt_protocol, acknowledgements_are_sent_in_the_order_of_the_messages) {
  const mqtt_script server(
      sending(mqtt_publish(7, "a") + mqtt_publish(3, "b") + mqtt_publish(9, "c")));
  const auto receiver = consume(server);
  const auto got = take(*receiver, 3);
  ASSERT_TRUE(receiver->acknowledge(got[2].tag).has_value());
  ASSERT_TRUE(receiver->acknowledge(got[1].tag).has_value());
  EXPECT_EQ(receiver->acknowledge(got[1].tag).error().code, errc::not_found);
  EXPECT_TRUE(receiver->receive(1, 100ms).value().empty());
  EXPECT_TRUE(server.packets(puback).empty());
  ASSERT_TRUE(receiver->acknowledge(got[0].tag).has_value());
  wait_until("acknowledgements", [&] { return server.packets(puback).size() == 3; });
  EXPECT_EQ(ids_of(server.packets(puback)), "\x00\x07\x00\x03\x00\x09"s);
}

TEST_F(mqtt_protocol, nothing_is_acknowledged_before_it_is_settled) {
  const mqtt_script server(sending(mqtt_publish(1, "a") + mqtt_publish(2, "b")));
  {
    const auto receiver = consume(server);
    const auto got = take(*receiver, 2);
    ASSERT_TRUE(receiver->give_back(got[0].tag, 0ms).has_value());
    const auto again = take(*receiver, 1);
    EXPECT_EQ(again[0].received.payload, "a");
    EXPECT_EQ(again[0].count, 2u);
    ASSERT_TRUE(receiver->acknowledge(got[1].tag).has_value());
  }
  wait_until("the goodbye", [&] { return !server.packets(disconnect).empty(); });
  EXPECT_TRUE(server.packets(puback).empty());
}

TEST_F(mqtt_protocol, what_is_given_back_comes_before_what_has_never_been_tried) {
  const mqtt_script server(
      sending(mqtt_publish(1, "a") + mqtt_publish(2, "b") + mqtt_publish(3, "c")));
  const auto receiver = consume(server);
  const auto first = take(*receiver, 1);
  ASSERT_TRUE(receiver->give_back(first[0].tag, 0ms).has_value());
  for (const auto* const payload : {"a", "b", "c"}) {
    EXPECT_EQ(take(*receiver, 1)[0].received.payload, payload);
  }
}

TEST_F(mqtt_protocol, a_message_that_comes_again_is_counted_and_one_of_qos_0_is_not_acknowledged) {
  const mqtt_script server(
      sending(mqtt_publish(1, "a", true) + mqtt_packet(0x30, "\x00\x01t\x00once"s)));
  const auto receiver = consume(server);
  const auto got = take(*receiver, 2);
  EXPECT_EQ(got[0].count, 2u);
  EXPECT_EQ(got[1].count, 1u);
  EXPECT_EQ(got[1].received.payload, "once");
  ASSERT_TRUE(receiver->acknowledge(got[1].tag).has_value());
  EXPECT_EQ(receiver->acknowledge(got[1].tag).error().code, errc::not_found);
  ASSERT_TRUE(receiver->acknowledge(got[0].tag).has_value());
  wait_until("an acknowledgement", [&] { return !server.packets(puback).empty(); });
  EXPECT_EQ(ids_of(server.packets(puback)), "\x00\x01"s);
}

// --- signs of life ------------------------------------------------------------------------------

TEST_F(mqtt_protocol, a_server_that_is_silent_is_asked_and_then_given_up) {
  const mqtt_script server(sending({}));
  auto begin = base::boot_now();
  std::unique_ptr<messaging::consumer> receiver;
  wait_until("an answer within the timeout", [&] {
    begin = base::boot_now();
    receiver = consume(server, 1'500ms);
    return true;
  });
  const auto got = receiver->receive(1, 10s);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code, errc::broker_unreachable);
  EXPECT_GE(base::boot_now() - begin, 3s);
  EXPECT_LT(base::boot_now() - begin, 9s);
  EXPECT_EQ(server.packets(pingreq).size(), 1u);
  EXPECT_EQ(receiver->extend(1).error().code, errc::broker_unreachable);
}

TEST_F(mqtt_protocol, signs_of_life_keep_the_interval_of_the_server) {
  const mqtt_script server([](const packet& got) {
    if (got.type == connect) return mqtt_connack(false, 0, "\x13\x00\x01"s);  // one second
    if (got.type == pingreq) return mqtt_packet(0xd0, {});
    return got.type == subscribe ? mqtt_suback(1) : std::string();
  });
  const auto receiver = consume(server);
  // An interval in which a busy machine was late says nothing.
  for (int tries = 0; tries < 5; ++tries) {
    const auto before = server.packets(pingreq).size();
    const auto begin = base::boot_now();
    EXPECT_TRUE(receiver->receive(1, 1'200ms).value().empty());
    const auto came = server.packets(pingreq).size() - before;
    if (base::boot_now() - begin >= 1'300ms) continue;
    EXPECT_GE(came, 2u);
    EXPECT_LE(came, 4u);
    break;
  }
}

TEST_F(mqtt_protocol, a_server_that_ends_the_connection_says_why) {
  const mqtt_script server(sending(mqtt_packet(0xe0, "\x8e\x00"s)));
  const auto opened = messaging::open_consumer(params_of(server.consumer_url()));
  const auto why = opened ? (*opened)->receive(1, 10s).error() : opened.error();
  EXPECT_EQ(why.code, errc::broker_unreachable);
  EXPECT_NE(why.detail.find("session taken over (0x8e), by another client with the client_id c"),
            std::string::npos)
      << why.detail;
}

TEST_F(mqtt_protocol, what_is_not_of_mqtt_ends_the_connection) {
  for (const auto& bytes : std::vector<std::string>{
           mqtt_packet(0x34, "\x00\x01t\x00\x01\x00x"s),             // QoS 2
           mqtt_packet(0x32, "\x00\x01t\x00\x00\x00x"s),             // the packet id 0
           mqtt_packet(0x32, "\x00\x00\x00\x01\x03\x23\x00\x01x"s),  // a topic alias
           mqtt_publish(5, "x") + mqtt_publish(5, "y"),              // in use
           mqtt_packet(0x32, "\x00\x09t"s), mqtt_suback(1), mqtt_connack(false, 0),
           mqtt_puback("\x00\x01"s, 0), mqtt_packet(0xf0, "\x18\x00"s),
           "\x32\xff\xff\xff\xff\x01"s}) {
    const mqtt_script server(sending(bytes));
    auto opened = messaging::open_consumer(params_of(server.consumer_url()));
    result<std::vector<messaging::delivery>> got =
        opened ? (*opened)->receive(0, 10s) : opened.error();
    ASSERT_FALSE(got.has_value());
    EXPECT_EQ(got.error().code, errc::broker_unreachable);
    EXPECT_NE(got.error().detail.find("not of MQTT 5"), std::string::npos) << got.error().detail;
  }
}

// --- publishing ---------------------------------------------------------------------------------

TEST_F(mqtt_protocol, each_reason_of_a_refusal_has_its_code) {
  for (const auto& [reason, code] :
       std::vector<std::pair<int, errc>>{{0x10, errc::not_found},
                                         {0x97, errc::store_full},
                                         {0x87, errc::conflict},
                                         {0x80, errc::conflict},
                                         {0x83, errc::conflict},
                                         {0x95, errc::conflict},
                                         {0x99, errc::conflict},
                                         {0x90, errc::invalid_argument},
                                         {0x91, errc::broker_unreachable}}) {
    const mqtt_script server(confirming(reason));
    const auto done = publish_texts(server, {"x"});
    ASSERT_FALSE(done.has_value()) << reason;
    EXPECT_EQ(done.error().code, code) << done.error().detail;
    EXPECT_EQ(done.error().effect, effect::none);
    EXPECT_EQ(publish_texts(server, {"x", "y"}).error().effect, effect::unknown);
  }
}

TEST_F(mqtt_protocol, no_more_is_on_its_way_than_the_server_takes) {
  std::vector<std::string> unanswered;
  std::size_t most = 0;
  const mqtt_script server([&](const packet& got) {
    if (got.type == connect) return mqtt_connack(false, 0, "\x21\x00\x03"s);
    if (got.type != publish) return std::string();
    unanswered.push_back(got.packet_id());
    most = std::max(most, unanswered.size());
    if (unanswered.size() < 3) return std::string();
    std::string out;
    for (const auto& id : std::exchange(unanswered, {})) out += mqtt_puback(id, 0);
    return out;
  });
  const auto done = publish_texts(server, std::vector<std::string>(30, "x"));
  EXPECT_TRUE(done.has_value()) << done.error().detail;
  EXPECT_EQ(most, 3u);
  EXPECT_EQ(server.packets(publish).size(), 30u);
}

TEST_F(mqtt_protocol, what_is_larger_than_the_server_takes_is_refused_before_anything_is_sent) {
  const mqtt_script server(confirming(0, "\x27\x00\x00\x00\x10"s));  // 16 bytes
  const auto done = publish_texts(server, {"x", "12345678"});        // 2 + 3 + 2 + 1 + 8 bytes
  EXPECT_TRUE(done.has_value()) << done.error().detail;
  const auto refused = publish_texts(server, {"x", "123456789"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, errc::conflict);
  EXPECT_NE(refused.error().detail.find("message 1"), std::string::npos) << refused.error().detail;
  EXPECT_EQ(server.packets(publish).size(), 2u);
}

TEST_F(mqtt_protocol, nothing_overtakes_a_refused_message_of_its_key) {
  const mqtt_script server(confirming(0x99));
  std::vector<message> batch(3);
  for (auto& one : batch) one.order_key = "key";
  const auto sender = messaging::open_publisher(params_of(server.publisher_url())).value();
  EXPECT_EQ(sender->publish(batch).error().code, errc::conflict);
  EXPECT_EQ(server.packets(publish).size(), 1u);
}

TEST_F(mqtt_protocol, a_confirmation_that_does_not_come_is_of_unknown_effect) {
  const mqtt_script server([](const packet& got) {
    return got.type == connect ? mqtt_connack(false, 0) : std::string();
  });
  result<void> done;
  wait_until("an answer to the connect within the timeout", [&] {
    done = publish_texts(server, {"x"}, 2s);
    return true;
  });
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, errc::broker_unreachable);
  EXPECT_EQ(done.error().effect, effect::unknown);
}

TEST_F(mqtt_protocol, the_packet_ids_begin_anew_after_the_last_one) {
  bool zero = false;
  const mqtt_script server([&](const packet& got) {
    if (got.type == connect) return mqtt_connack(false, 0);
    if (got.type != publish) return std::string();
    zero = zero || got.packet_id() == "\0\0"s;
    return mqtt_puback(got.packet_id(), 0);
  });
  const auto done = publish_texts(server, std::vector<std::string>(65'537, ""), 60s);
  EXPECT_TRUE(done.has_value()) << done.error().detail;
  EXPECT_FALSE(zero);
}

}  // namespace
}  // namespace onceguard::testing
