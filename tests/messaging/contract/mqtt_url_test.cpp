// What the URLs of MQTT's consumers and publishers say.
#include "messaging/mqtt/mqtt_url.hpp"

#include <array>
#include <unistd.h>

#include <gtest/gtest.h>

namespace onceguard::messaging::mqtt {
namespace {

address consumer_of(const std::string& url) {
  return read_address(url, broker_role::consumer).value();
}

std::string fault_of(const std::string& url, broker_role role = broker_role::consumer) {
  const auto read = read_address(url, role);
  if (read) return "none";
  EXPECT_EQ(read.error().code, errc::invalid_argument) << url;
  return read.error().detail;
}

TEST(mqtt_url, a_consumer_needs_a_client_id_and_has_defaults) {
  const auto found = consumer_of("mqtt://host/orders?client_id=billing-1");
  EXPECT_EQ(found.url.port, 1883);
  EXPECT_FALSE(found.url.login.has_value());
  EXPECT_EQ(found.topic, "orders");
  EXPECT_EQ(found.filter(), "orders");
  EXPECT_EQ(found.client_id, "billing-1");
  EXPECT_EQ(found.session_expiry, std::chrono::hours(7 * 24));
  EXPECT_EQ(found.keep_alive, std::chrono::minutes(5));
  EXPECT_TRUE(found.create);
  EXPECT_FALSE(found.tls.has_value());
  EXPECT_NE(fault_of("mqtt://host/orders").find("client_id"), std::string::npos);
}

TEST(mqtt_url, each_parameter_is_read) {
  const auto found = consumer_of(
      "mqtt://me:p%40ss@host:99/a/b?client_id=c%201&group=g&session_expiry=30d&keep_alive=90s"
      "&create=no");
  EXPECT_EQ(found.url.port, 99);
  EXPECT_EQ(found.url.login->second, "p@ss");
  EXPECT_EQ(found.topic, "a/b");
  EXPECT_EQ(found.filter(), "$share/g/a/b");
  EXPECT_EQ(found.client_id, "c 1");
  EXPECT_EQ(found.session_expiry, std::chrono::hours(30 * 24));
  EXPECT_EQ(found.keep_alive, std::chrono::seconds(90));
  EXPECT_FALSE(found.create);
}

TEST(mqtt_url, parts_of_seconds_are_rounded_up) {
  const auto found = consumer_of("mqtt://host/a?client_id=c&session_expiry=1ms&keep_alive=1500ms");
  EXPECT_EQ(found.session_expiry, std::chrono::seconds(1));
  EXPECT_EQ(found.keep_alive, std::chrono::seconds(2));
}

TEST(mqtt_url, a_client_id_may_have_the_name_of_the_machine) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  EXPECT_EQ(consumer_of("mqtt://host/a?client_id=billing-{host}-1").client_id,
            "billing-" + std::string(host.data()) + "-1");
}

TEST(mqtt_url, topics_have_levels_and_consumers_wildcards) {
  for (const auto& [path, topic] : std::vector<std::pair<std::string, std::string>>{
           {"a/b/c", "a/b/c"},
           {"%2Fa", "/a"},
           {"a%2F%2Fb", "a//b"},
           {"sensors/+/temperature", "sensors/+/temperature"},
           {"a/%23", "a/#"},
           {"%23", "#"},
           {"$SYS/broker", "$SYS/broker"},
           {"%C3%A4", "\xc3\xa4"}}) {
    EXPECT_EQ(consumer_of("mqtt://host/" + path + "?client_id=c").topic, topic);
  }
  for (const std::string path : {"a+", "+a/b", "a/b%23", "%23/a", "$share/g/a", "%FF"}) {
    EXPECT_NE(fault_of("mqtt://host/" + path + "?client_id=c"), "none") << path;
  }
  for (const std::string path : {"a/+", "%23", "%FF"}) {
    EXPECT_NE(fault_of("mqtt://host/" + path, broker_role::publisher), "none") << path;
  }
}

TEST(mqtt_url, a_publisher_needs_a_topic_alone) {
  const auto found = read_address("mqtt://host/a/b", broker_role::publisher).value();
  EXPECT_EQ(found.topic, "a/b");
  EXPECT_EQ(found.client_id, "");
  EXPECT_EQ(read_address("mqtt://host/a?client_id=c", broker_role::publisher)->client_id, "c");
  for (const std::string more :
       {"?group=g", "?session_expiry=1d", "?keep_alive=1s", "?create=no"}) {
    EXPECT_NE(fault_of("mqtt://host/a" + more, broker_role::publisher).find("no parameter"),
              std::string::npos);
  }
}

TEST(mqtt_url, tls_has_files_of_its_own) {
  const auto found = consumer_of(
      "mqtts://host/a?client_id=c&ca=/etc/ca.pem&cert=/etc/c.pem&key=/etc/k.pem&verify=no");
  EXPECT_EQ(found.url.port, 8883);
  EXPECT_EQ(found.tls->ca, "/etc/ca.pem");
  EXPECT_EQ(found.tls->certificate, "/etc/c.pem");
  EXPECT_EQ(found.tls->key, "/etc/k.pem");
  EXPECT_FALSE(found.tls->verify);
  const auto usual = consumer_of("mqtts://host/a?client_id=c");
  EXPECT_EQ(usual.tls->ca, "") << "those of the system";
  EXPECT_TRUE(usual.tls->verify);
}

TEST(mqtt_url, faults_are_named_and_repeat_no_secret) {
  const std::string long_text(65'536, 'x');
  for (const auto& [rest, words] : std::vector<std::pair<std::string, std::string>>{
           {"?client_id=", "client_id is empty"},
           {"?client_id=%FF", "no UTF-8"},
           {"?client_id=" + long_text, "no UTF-8 of at most"},
           {"?client_id=c&group=", "group is empty"},
           {"?client_id=c&group=a%2Fb", "the group has a /"},
           {"?client_id=c&group=%2B", "the group has a /"},
           {"?client_id=c&session_expiry=0s", "session_expiry"},
           {"?client_id=c&session_expiry=50000d", "session_expiry is longer"},
           {"?client_id=c&keep_alive=20h", "keep_alive is longer"},
           {"?client_id=c&keep_alive=s3cret", "keep_alive"},
           {"?client_id=c&create=s3cret", "create"},
           {"?client_id=c&ca=s3cret", "ca is of TLS"},
           {"?client_id=c&qos=0", "there is no parameter"}}) {
    const auto fault = fault_of("mqtt://me:s3cret@host/a" + rest);
    EXPECT_NE(fault.find(words), std::string::npos) << fault.substr(0, 300);
    EXPECT_EQ(fault.find("s3cret"), std::string::npos) << fault.substr(0, 300);
  }
  EXPECT_NE(fault_of("mqtts://host/a?client_id=c&cert=a").find("needs its key"), std::string::npos);
  EXPECT_NE(fault_of("mqtt://%FF:x@host/a?client_id=c").find("user"), std::string::npos);
}

TEST(mqtt_url, both_schemes_are_known) {
  EXPECT_EQ(messaging::url_fault("mqtt://host/a?client_id=c", broker_role::consumer), "");
  EXPECT_EQ(messaging::url_fault("mqtts://host/a", broker_role::publisher), "");
  EXPECT_NE(messaging::url_fault("mqtt://host/a", broker_role::consumer), "");
}

}  // namespace
}  // namespace onceguard::messaging::mqtt
