// What the URLs of Kafka say, and what librdkafka gets.
#include "messaging/kafka/kafka_url.hpp"

#include <gtest/gtest.h>

#include "messaging/broker_adapter.hpp"
#include "messaging/kafka/kafka_connection.hpp"

namespace onceguard::testing {
namespace {

using messaging::broker_role;
using messaging::kafka::common_settings;
using messaging::kafka::kafka_url;
using messaging::kafka::read_kafka_url;

kafka_url consumer_url(std::string_view text) {
  return read_kafka_url(text, broker_role::consumer).value();
}
kafka_url publisher_url(std::string_view text) {
  return read_kafka_url(text, broker_role::publisher).value();
}
std::string fault(std::string_view text, broker_role role = broker_role::consumer) {
  return messaging::url_fault_by<read_kafka_url>(text, role);
}
std::string setting(const kafka_url& url, std::string_view name) {
  for (const auto& [given, value] : common_settings(url, {})) {
    if (given == name) return value;
  }
  return "none";
}

TEST(kafka_url, a_server_a_topic_and_a_group_are_enough) {
  const auto url = consumer_url("kafka://broker/orders?group=billing");
  EXPECT_EQ(url.servers, "broker:9092");
  EXPECT_EQ(url.topic, "orders");
  EXPECT_EQ(url.group, "billing");
  EXPECT_EQ(url.start, "earliest");
  EXPECT_EQ(url.hold, milliseconds(30'000));
  EXPECT_EQ(url.dead_letters, "");
  EXPECT_FALSE(url.tls);
  EXPECT_EQ(setting(url, "security.protocol"), "plaintext");
}

TEST(kafka_url, there_may_be_many_servers) {
  const auto url = publisher_url("kafka://one:1001,two,[::1]:1003,[fe80::1]/orders");
  EXPECT_EQ(url.servers, "one:1001,two:9092,[::1]:1003,[fe80::1]:9092");
  EXPECT_EQ(url.name(), "kafka://one:1001,two:9092,[::1]:1003,[fe80::1]:9092/orders");
}

TEST(kafka_url, all_parameters_are_read) {
  const auto url = consumer_url(
      "kafka://broker/orders?group=a%20b&hold=10s&start=latest&dead_letters=orders.dead");
  EXPECT_EQ(url.group, "a b");
  EXPECT_EQ(url.hold, milliseconds(10'000));
  EXPECT_EQ(url.start, "latest");
  EXPECT_EQ(url.dead_letters, "orders.dead");
}

TEST(kafka_url, a_login_is_one_of_sasl) {
  const auto url = publisher_url("kafka://me:a%40b@one,two/orders?sasl=scram-sha-512");
  EXPECT_EQ(url.servers, "one:9092,two:9092");
  EXPECT_EQ(setting(url, "security.protocol"), "sasl_plaintext");
  EXPECT_EQ(setting(url, "sasl.mechanism"), "SCRAM-SHA-512");
  EXPECT_EQ(setting(url, "sasl.username"), "me");
  EXPECT_EQ(setting(url, "sasl.password"), "a@b");
  EXPECT_EQ(url.name().find("a@b"), std::string::npos);
  EXPECT_EQ(setting(publisher_url("kafka://me:x@one/orders"), "sasl.mechanism"), "PLAIN");
}

TEST(kafka_url, tls_checks_the_name_of_the_broker) {
  const auto url =
      publisher_url("kafka+ssl://me:x@one/orders?ca=/ca.pem&certificate=/c.pem&key=/k.pem");
  EXPECT_TRUE(url.tls.has_value());
  EXPECT_EQ(setting(url, "security.protocol"), "sasl_ssl");
  EXPECT_EQ(setting(url, "ssl.endpoint.identification.algorithm"), "https");
  EXPECT_EQ(setting(url, "ssl.ca.location"), "/ca.pem");
  EXPECT_EQ(setting(url, "ssl.certificate.location"), "/c.pem");
  EXPECT_EQ(setting(url, "ssl.key.location"), "/k.pem");
  EXPECT_EQ(setting(publisher_url("kafka+ssl://one/orders"), "security.protocol"), "ssl");
}

TEST(kafka_url, a_token_is_a_login_without_a_password) {
  const auto url = publisher_url("kafka+ssl://one/orders?tls_ca=/ca.pem&token_file=/run/token");
  EXPECT_EQ(setting(url, "security.protocol"), "sasl_ssl");
  EXPECT_EQ(setting(url, "sasl.mechanism"), "OAUTHBEARER");
  EXPECT_EQ(setting(url, "sasl.oauthbearer.config"), "/run/token");
  EXPECT_EQ(setting(url, "ssl.ca.location"), "/ca.pem");
  EXPECT_NE(fault("kafka+ssl://one/orders?group=a&sasl=oauthbearer"), "") << "no token";
  EXPECT_NE(fault("kafka+ssl://me:x@one/orders?group=a&token_file=/t"), "") << "two logins";
  EXPECT_NE(fault("kafka+ssl://me:x@one/orders?group=a&sasl=plain&token_file=/t"), "");
}

TEST(kafka_url, what_can_not_be_right_is_refused) {
  EXPECT_NE(fault("kafka://broker/orders"), "") << "no group";
  EXPECT_NE(fault("kafka://broker/orders?group="), "");
  EXPECT_NE(fault("kafka://broker?group=a"), "");
  EXPECT_NE(fault("kafka://broker/a/b?group=a"), "");
  EXPECT_NE(fault("kafka:broker/orders?group=a"), "");
  EXPECT_NE(fault("kafka:///orders?group=a"), "");
  EXPECT_NE(fault("kafka://one,/orders?group=a"), "");
  EXPECT_NE(fault("kafka://,two/orders?group=a"), "");
  EXPECT_NE(fault("kafka://one,two:0/orders?group=a"), "");
  EXPECT_NE(fault("kafka://one,me:x@two/orders?group=a&sasl=magic"), "");
  EXPECT_NE(fault("kafka://broker/%5Eorders?group=a"), "") << "a pattern";
  EXPECT_NE(fault("kafka://broker/..?group=a"), "");
  EXPECT_NE(fault("kafka://broker/" + std::string(250, 'x') + "?group=a"), "");
  EXPECT_NE(fault("kafka://broker/orders?group=a&start=middle"), "");
  EXPECT_NE(fault("kafka://broker/orders?group=a&hold=1ms"), "");
  EXPECT_NE(fault("kafka://broker/orders?group=a&hold=31m"), "");
  EXPECT_NE(fault("kafka://broker/orders?group=a&hold=soon"), "");
  EXPECT_NE(fault("kafka://broker/orders?group=a&dead_letters=orders"), "");
  EXPECT_NE(fault("kafka://broker/orders?group=a&dead_letters=a,b"), "");
  EXPECT_NE(fault("kafka://broker/orders?group=a&sasl=plain"), "") << "no login";
  EXPECT_NE(fault("kafka://broker/orders?group=a&ca=/ca.pem"), "") << "no TLS";
  EXPECT_NE(fault("kafka+ssl://broker/orders?group=a&key=/k.pem"), "") << "no certificate";
  EXPECT_NE(fault("kafka://broker/orders?group=a", broker_role::publisher), "");
  EXPECT_EQ(fault("kafka://broker/orders", broker_role::publisher), "");
}

TEST(kafka_url, no_fault_shows_a_password) {
  for (const auto* const url :
       {"kafka://me:geheim@one,two:0/orders?group=a", "kafka://me:geheim@one/orders",
        "kafka://me:geheim@one/orders?group=a&sasl=x", "kafka://me:geheim@one/a/b?group=a"}) {
    const auto text = fault(url);
    EXPECT_NE(text, "");
    EXPECT_EQ(text.find("geheim"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace onceguard::testing
