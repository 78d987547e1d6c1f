// AMQPS: certificates, names, and the login by a certificate.
#include <gtest/gtest.h>

#include "messaging/broker_kind.hpp"
#include "support/authority.hpp"
#include "support/rabbitmq_server.hpp"

namespace onceguard::testing {
namespace {

using messaging::broker_role;

class secure_rabbitmq {
 public:
  explicit secure_rabbitmq(const authority& trusted, const certificate_files& own)
      : server_("{ssl_listeners, [{\"127.0.0.1\", " + std::to_string(port_) +
                    "}]}, {ssl_options, [{cacertfile, \"" + trusted.file() + "\"}, {certfile, \"" +
                    own.certificate + "\"}, {keyfile, \"" + own.key +
                    "\"}, {verify, verify_peer}, {fail_if_no_peer_cert, false}]}, "
                    "{auth_mechanisms, ['PLAIN', 'EXTERNAL']}, {ssl_cert_login_from, common_name}",
                "rabbitmq_auth_mechanism_ssl") {
    server_.session().declare_queue("orders", {});
    server_.control({"add_user", "billing", "never-used"});
    server_.control({"set_permissions", "billing", ".*", ".*", ".*"});
  }

  [[nodiscard]] std::string url(const std::string& more, const std::string& login = {},
                                const std::string& host = "127.0.0.1") const {
    return "amqps://" + login + host + ":" + std::to_string(port_) + "/orders?" + more;
  }

 private:
  const int port_ = free_port();
  rabbitmq_server server_;
};

class rabbitmq_tls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ours_ = new authority;
    server_ = new secure_rabbitmq(*ours_, ours_->issue("server"));
  }
  static void TearDownTestSuite() {
    delete server_;
    delete ours_;
  }

  static messaging::broker_params params_of(const std::string& url) {
    messaging::broker_params out;
    out.url = url;
    out.timeout = std::chrono::seconds(10);
    out.name = "test";
    return out;
  }
  /// Publishes a message with the first URL, and takes it with the second.
  static void expect_passage(const std::string& target, const std::string& source,
                             const std::string& payload) {
    const auto sender = messaging::open_publisher(params_of(target));
    ASSERT_TRUE(sender.has_value()) << sender.error().detail;
    messaging::message sent;
    sent.payload = payload;
    const auto published = (*sender)->publish({&sent, 1});
    ASSERT_TRUE(published.has_value()) << published.error().detail;
    const auto receiver = messaging::open_consumer(params_of(source));
    ASSERT_TRUE(receiver.has_value()) << receiver.error().detail;
    const auto got = (*receiver)->receive(1, std::chrono::seconds(10));
    ASSERT_TRUE(got.has_value()) << got.error().detail;
    ASSERT_EQ(got->size(), 1u);
    EXPECT_TRUE(got->front().received.payload == payload);
    EXPECT_TRUE((*receiver)->acknowledge(got->front().tag).has_value());
  }
  static error why(const std::string& url) {
    const auto opened = messaging::open_consumer(params_of(url));
    return opened ? error(errc::conflict, "it was opened") : opened.error();
  }
  static bool mentions(const error& found, const std::string& text) {
    return found.detail.find(text) != std::string::npos;
  }
  static std::string shown(const certificate_files& own) {
    return "&tls_certificate=" + own.certificate + "&tls_key=" + own.key;
  }
  static std::string ca() { return "tls_ca=" + ours_->file(); }

  static inline authority* ours_ = nullptr;
  static inline secure_rabbitmq* server_ = nullptr;
};

TEST_F(rabbitmq_tls, carries_messages_of_many_records_with_a_password) {
  const auto url = server_->url(ca(), "guest:guest@");
  expect_passage(url, url, std::string(3'000'000, 'x'));
}

TEST_F(rabbitmq_tls, logs_in_by_the_name_in_a_certificate) {
  const auto url = server_->url(ca() + "&sasl=external" + shown(ours_->issue("billing")));
  expect_passage(url, url, "by the certificate");
}

TEST_F(rabbitmq_tls, refuses_a_name_that_is_no_user) {
  const auto found =
      why(server_->url(ca() + "&sasl=external" + shown(ours_->issue("somebody-else"))));
  EXPECT_EQ(found.code, errc::broker_unreachable);
  EXPECT_TRUE(mentions(found, "the broker refuses the name in the certificate")) << found.detail;
}

TEST_F(rabbitmq_tls, refuses_another_authority) {
  const authority others("others");
  const auto found = why(server_->url("tls_ca=" + others.file(), "me:hidden@"));
  EXPECT_EQ(found.code, errc::broker_unreachable);
  EXPECT_TRUE(mentions(found, "certificate")) << found.detail;
  EXPECT_TRUE(mentions(found, "amqps://127.0.0.1:")) << "the peer: " << found.detail;
  EXPECT_FALSE(mentions(found, "hidden")) << found.detail;
  EXPECT_TRUE(mentions(why(server_->url("tls_name=localhost")), "certificate"))
      << "those of the system";
}

TEST_F(rabbitmq_tls, asks_for_the_name_of_the_host) {
  const auto found = why(server_->url(ca() + "&tls_name=broker.internal", "guest:guest@"));
  EXPECT_EQ(found.code, errc::broker_unreachable);
  EXPECT_TRUE(mentions(found, "hostname mismatch")) << found.detail;
  EXPECT_FALSE(
      messaging::open_consumer(params_of(server_->url(ca() + "&tls_name=localhost"))).has_error());
}

TEST_F(rabbitmq_tls, refuses_what_has_expired) {
  const secure_rabbitmq late(*ours_, ours_->issue("late", "IP:127.0.0.1", true));
  const auto found = why(late.url(ca()));
  EXPECT_EQ(found.code, errc::broker_unreachable) << "it may be renewed";
  EXPECT_TRUE(mentions(found, "certificate has expired")) << found.detail;
}

TEST_F(rabbitmq_tls, names_the_file_that_can_not_be_used) {
  const auto missing = why(server_->url("tls_ca=/nowhere.pem"));
  EXPECT_EQ(missing.code, errc::invalid_argument);
  EXPECT_TRUE(mentions(missing, "/nowhere.pem: ")) << missing.detail;
  const auto one = ours_->issue("one");
  const auto two = ours_->issue("two");
  const auto wrong = why(server_->url(ca() + shown({one.certificate, two.key})));
  EXPECT_EQ(wrong.code, errc::invalid_argument);
  EXPECT_TRUE(mentions(wrong, two.key + ": key values mismatch")) << wrong.detail;

  const auto fault = [](const std::string& url) {
    return messaging::setup_fault(url, broker_role::publisher);
  };
  EXPECT_NE(fault("amqps://host/queue?tls_ca=/nowhere.pem").find("/nowhere.pem"),
            std::string::npos);
  EXPECT_EQ(fault("amqps://host/queue?tls_ca=" + ours_->file()), "");
}

TEST_F(rabbitmq_tls, takes_no_half_settings) {
  const auto fault = [](const std::string& url) {
    return messaging::url_fault(url, broker_role::consumer);
  };
  EXPECT_EQ(fault("amqps://host/queue?tls_ca=/ca.pem"), "");
  EXPECT_EQ(fault("amqps://host/queue?sasl=external&tls_certificate=/c&tls_key=/k"), "");
  EXPECT_NE(fault("amqp://host/queue?tls_ca=/ca.pem"), "") << "not in the clear";
  EXPECT_NE(fault("amqps://host/queue?tls_certificate=/c"), "") << "no key";
  EXPECT_NE(fault("amqps://host/queue?sasl=external"), "") << "no certificate";
  EXPECT_NE(fault("amqps://a:b@host/queue?sasl=external&tls_certificate=/c&tls_key=/k"), "");
  EXPECT_NE(fault("amqps://host/queue?sasl=scram"), "");
}

}  // namespace
}  // namespace onceguard::testing
