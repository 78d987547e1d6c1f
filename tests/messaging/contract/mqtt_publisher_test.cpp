// Publishers to MQTT on a real server, logins, and TLS.
#include <fstream>

#include "messaging/contract/mqtt_fixture.hpp"
#include "support/certificate.hpp"

namespace onceguard::testing {
namespace {

using mqtt_publisher = mqtt_fixture;

// --- publishing ---------------------------------------------------------------------------------

TEST_F(mqtt_publisher, a_topic_that_nobody_subscribes_to_is_an_error) {
  const auto done = publish_to(server().url(topic_), {text("x")});
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, errc::not_found);
  EXPECT_TRUE(mentions(done.error(), "no matching subscribers")) << done.error().detail;
}

TEST_F(mqtt_publisher, a_large_batch_arrives_in_its_order) {
  constexpr int count = 3'000;
  const auto receiver = consume("one", {}, count);
  publish_numbers(0, count);
  int next = 0;
  while (next < count) {
    const auto all = take(*receiver, 500);
    ASSERT_FALSE(all.empty());
    for (const auto& got : all) {
      ASSERT_EQ(got.received.payload, std::to_string(next++));
      ASSERT_TRUE(receiver->acknowledge(got.tag).has_value());
    }
  }
}

TEST_F(mqtt_publisher, a_message_above_the_limit_of_the_server_is_refused) {
  mosquitto_server small("allow_anonymous true\nmax_packet_size 1000");
  const auto url = small.url("t?client_id=c");
  const auto receiver = messaging::open_consumer(params_of(url)).value();
  const auto done = publish_to(small.url("t"), {text(std::string(1'000, 'x'))});
  EXPECT_EQ(done.error().code, errc::conflict) << done.error().detail;
  mosquitto_server strict("allow_anonymous true\nmessage_size_limit 1000");
  const auto refused = publish_to(strict.url("t"), {text(std::string(1'001, 'x'))});
  EXPECT_EQ(refused.error().code, errc::conflict) << refused.error().detail;
  EXPECT_TRUE(mentions(refused.error(), "packet too large")) << refused.error().detail;
}

// --- who may do what ----------------------------------------------------------------------------

TEST_F(mqtt_publisher, a_login_and_its_rights_are_those_of_the_server) {
  const temporary_folder folder;
  std::ofstream(folder.file("passwords")) << "me:secret\n";
  run_program({}, {"/usr/bin/mosquitto_passwd", "-U", folder.file("passwords")},
              folder.file("log"));
  std::ofstream(folder.file("rights")) << "user me\ntopic readwrite open\n";
  mosquitto_server closed("allow_anonymous false\npassword_file " + folder.file("passwords") +
                          "\nacl_file " + folder.file("rights"));
  const auto consumer = [&](const std::string& login, const std::string& topic) {
    return messaging::open_consumer(params_of(closed.url(topic + "?client_id=c", login)));
  };
  EXPECT_TRUE(consumer("me:secret@", "open").has_value());
  const auto wrong = consumer("me:hidden@", "open").error();
  EXPECT_EQ(wrong.code, errc::broker_unreachable);
  EXPECT_TRUE(mentions(wrong, "not authorized")) << wrong.detail;
  EXPECT_FALSE(mentions(wrong, "hidden")) << wrong.detail;
  EXPECT_EQ(consumer("", "open").error().code, errc::broker_unreachable);
  const auto unpublished = publish_to(closed.url("closed", "me:secret@"), {text("x")});
  EXPECT_EQ(unpublished.error().code, errc::conflict) << unpublished.error().detail;
  EXPECT_TRUE(mentions(unpublished.error(), "not authorized")) << unpublished.error().detail;
  EXPECT_TRUE(publish_to(closed.url("open", "me:secret@"), {text("x")}).has_value());
}

TEST_F(mqtt_publisher, tls_checks_the_certificate_of_the_server) {
  const certificate ours;
  const certificate others;
  mosquitto_server secret("certfile " + ours.file() + "\nkeyfile " + ours.key() +
                          "\nallow_anonymous true");
  const auto consumer = [&](const std::string& more, const std::string& scheme = "mqtts") {
    auto params = params_of(secret.url("t?client_id=c" + more, {}, scheme));
    params.timeout = scheme == "mqtts" ? 20s : 2s;  // in the clear, nothing is ever answered
    return messaging::open_consumer(params);
  };
  const auto receiver = consumer("&ca=" + ours.file());
  ASSERT_TRUE(receiver.has_value()) << receiver.error().detail;
  const std::string large(300'000, 'x');
  const std::vector<message> batch{text(large), text("y")};
  const auto sent = publish_to(secret.url("t?ca=" + ours.file(), {}, "mqtts"), batch);
  ASSERT_TRUE(sent.has_value()) << sent.error().detail;
  const auto got = take_one(**receiver);
  EXPECT_EQ(got.received.payload, large);
  EXPECT_TRUE((*receiver)->acknowledge(got.tag).has_value());
  EXPECT_EQ(take_one(**receiver).received.payload, "y");

  for (const auto& more : {std::string(), "&ca=" + others.file()}) {
    const auto why = consumer(more).error();
    EXPECT_EQ(why.code, errc::broker_unreachable);
    EXPECT_TRUE(mentions(why, "self-signed certificate")) << why.detail;
  }
  // The same server by an address that the certificate does not have.
  auto elsewhere = secret.url("t?client_id=c&ca=" + ours.file(), {}, "mqtts");
  elsewhere.replace(elsewhere.find("127.0.0.1"), 9, "[::ffff:127.0.0.1]");
  const auto mismatch = messaging::open_consumer(params_of(elsewhere)).error();
  EXPECT_EQ(mismatch.code, errc::broker_unreachable);
  EXPECT_TRUE(mentions(mismatch, "IP address mismatch")) << mismatch.detail;
  EXPECT_TRUE(consumer("&verify=no").has_value());
  EXPECT_EQ(consumer("", "mqtt").error().code, errc::broker_unreachable);
  const auto missing = consumer("&ca=/nowhere.pem").error();
  EXPECT_EQ(missing.code, errc::invalid_argument);
  EXPECT_TRUE(mentions(missing, "/nowhere.pem: ")) << missing.detail;
}

TEST_F(mqtt_publisher, tls_shows_the_certificate_of_the_client) {
  const certificate ours;
  const certificate client;
  mosquitto_server secret("certfile " + ours.file() + "\nkeyfile " + ours.key() + "\ncafile " +
                          client.file() + "\nrequire_certificate true\nallow_anonymous true");
  const auto url = "t?client_id=c&ca=" + ours.file();
  const auto known = messaging::open_consumer(
      params_of(secret.url(url + "&cert=" + client.file() + "&key=" + client.key(), {}, "mqtts")));
  EXPECT_TRUE(known.has_value()) << known.error().detail;
  const auto without = messaging::open_consumer(params_of(secret.url(url, {}, "mqtts")));
  EXPECT_EQ(without.error().code, errc::broker_unreachable);
  const auto wrong = messaging::open_consumer(
      params_of(secret.url(url + "&cert=" + client.file() + "&key=" + ours.key(), {}, "mqtts")));
  EXPECT_EQ(wrong.error().code, errc::invalid_argument) << wrong.error().detail;
}

}  // namespace
}  // namespace onceguard::testing
