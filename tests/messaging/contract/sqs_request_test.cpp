// What is asked of Amazon SQS, and what its answers mean: against a scripted server.
#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <onceguard/broker.hpp>

#include "base/clock.hpp"
#include "messaging/batch_publisher.hpp"
#include "messaging/broker_kind.hpp"
#include "messaging/contract/sqs_script.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class sqs_request_test : public ::testing::Test {
 protected:
  static constexpr const char* secret = "a-secret/that+nobody=sees";

  [[nodiscard]] messaging::broker_params params(const std::string& more = {}) const {
    messaging::broker_params out;
    out.url = server_.url("orders", more);
    return out;
  }
  [[nodiscard]] std::unique_ptr<messaging::consumer> consumer(const std::string& more = {}) const {
    return messaging::open_consumer(params(more)).value();
  }
  [[nodiscard]] std::unique_ptr<messaging::publisher> publisher() const {
    return messaging::open_publisher(params()).value();
  }
  [[nodiscard]] error refusal() const { return messaging::open_consumer(params()).error(); }
  /// The one delivery that the server is about to have.
  std::uint64_t receive_one(messaging::consumer& receiver) {
    server_.answer(200, R"({"Messages":[{"MessageId":"m","ReceiptHandle":"r","Body":"x"}]})");
    return receiver.receive(1, milliseconds(0)).value().at(0).tag;
  }
  static std::vector<messaging::message> messages(std::size_t count) {
    std::vector<messaging::message> out(count);
    for (auto& each : out) each.payload = "x";
    return out;
  }

  const scoped_variable key_id_{"AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"};
  const scoped_variable secret_{"AWS_SECRET_ACCESS_KEY", secret};
  const scoped_variable token_{"AWS_SESSION_TOKEN", std::nullopt};
  sqs_script server_;
};

constexpr const char* throttled = R"({"__type":"com.amazonaws.sqs#ThrottlingException",)"
                                  R"("message":"Rate exceeded"})";

TEST_F(sqs_request_test, requests_are_signed_and_the_secret_stays_here) {
  const scoped_variable token("AWS_SESSION_TOKEN", "the-token");
  const auto receiver = consumer();
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 2u);
  for (const auto& each : requests) {
    EXPECT_TRUE(each.starts_with("POST / HTTP/1.1\r\n"));
    EXPECT_THAT(each, HasSubstr("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"));
    EXPECT_THAT(each, HasSubstr("/us-east-1/sqs/aws4_request, SignedHeaders=content-type;host;"
                                "x-amz-date;x-amz-security-token;x-amz-target, Signature="));
    EXPECT_THAT(each, HasSubstr("X-Amz-Security-Token: the-token\r\n"));
    EXPECT_THAT(each, HasSubstr("Content-Type: application/x-amz-json-1.0\r\n"));
    EXPECT_THAT(each, Not(HasSubstr(secret)));
    EXPECT_THAT(each, Not(HasSubstr("Expect:")));
  }
}

TEST_F(sqs_request_test, a_throttled_server_is_asked_again) {
  const auto receiver = consumer();
  const auto tag = receive_one(*receiver);
  server_.answer(400, throttled);
  server_.answer(429, "");
  server_.answer(503, "<html>");
  EXPECT_TRUE(receiver->acknowledge(tag).has_value());
  EXPECT_EQ(server_.requests("DeleteMessage").size(), 4u);
}

TEST_F(sqs_request_test, a_server_that_stays_throttled_is_out_of_reach_after_the_timeout) {
  for (int i = 0; i < 1'000; ++i) server_.answer(400, throttled);
  auto brief = params();
  brief.timeout = milliseconds(1'500);
  const auto begin = base::boot_now();
  const auto opened = messaging::open_consumer(brief);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, errc::broker_unreachable);
  EXPECT_THAT(opened.error().detail, HasSubstr("ThrottlingException: Rate exceeded"));
  EXPECT_LT(base::boot_now() - begin, std::chrono::seconds(10));
}

TEST_F(sqs_request_test, errors_have_their_class_and_show_no_secret) {
  const std::vector<std::pair<std::string, errc>> all{
      {"InvalidClientTokenId", errc::broker_unreachable},
      {"AccessDeniedException", errc::broker_unreachable},
      {"SignatureDoesNotMatch", errc::broker_unreachable},
      {"ExpiredTokenException", errc::broker_unreachable},
      {"QueueDoesNotExist", errc::not_found},
      {"InvalidAttributeName", errc::conflict}};
  for (const auto& [name, code] : all) {
    server_.answer(400, R"({"__type":"com.amazonaws.sqs#)" + name + R"(","message":"words"})");
    const auto why = refusal();
    EXPECT_EQ(why.code, code) << name;
    EXPECT_THAT(why.detail, HasSubstr("sqs://us-east-1/orders: "));
    EXPECT_THAT(why.detail, HasSubstr(name + ": words"));
    EXPECT_THAT(why.detail, Not(HasSubstr(secret)));
  }
  server_.answer(200, "no JSON");
  EXPECT_EQ(refusal().code, errc::conflict);
}

TEST_F(sqs_request_test, what_is_held_no_more_is_asked_for_no_more) {
  const auto receiver = consumer("&hold=1s");
  const auto tag = receive_one(*receiver);
  const auto until = base::boot_now() + std::chrono::seconds(1);
  // It is held until the second is over.
  while (base::boot_now() < until) static_cast<void>(receiver->receive(1, milliseconds(100)));
  server_.requests();
  EXPECT_EQ(receiver->acknowledge(tag).error().code, errc::not_found);
  EXPECT_EQ(receiver->extend(tag).error().code, errc::not_found);
  EXPECT_EQ(receiver->give_back(tag, milliseconds(0)).error().code, errc::not_found);
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(sqs_request_test, a_receipt_that_the_server_does_not_know_is_not_found) {
  const auto receiver = consumer();
  const auto tag = receive_one(*receiver);
  server_.answer(400, R"({"__type":"com.amazonaws.sqs#InvalidParameterValue","message":"Value r )"
                      R"(is invalid. Reason: The receipt handle has expired."})");
  EXPECT_EQ(receiver->acknowledge(tag).error().code, errc::not_found);
  server_.requests();
  EXPECT_EQ(receiver->acknowledge(tag).error().code, errc::not_found);
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(sqs_request_test, delays_are_whole_seconds_of_at_most_twelve_hours) {
  const auto receiver = consumer();
  const std::vector<std::pair<milliseconds, std::string>> all{
      {milliseconds(0), R"("VisibilityTimeout":0})"},
      {milliseconds(1), R"("VisibilityTimeout":1})"},
      {milliseconds(2'001), R"("VisibilityTimeout":3})"},
      {std::chrono::hours(100), R"("VisibilityTimeout":431)"}};
  for (const auto& [delay, text] : all) {
    const auto tag = receive_one(*receiver);
    server_.requests();
    EXPECT_TRUE(receiver->give_back(tag, delay).has_value());
    EXPECT_THAT(server_.requests().at(0), HasSubstr(text));
  }
}

TEST_F(sqs_request_test, what_a_consumer_holds_is_given_back_when_it_closes) {
  auto receiver = consumer();
  receive_one(*receiver);
  receive_one(*receiver);
  server_.requests();
  receiver.reset();
  const auto requests = server_.requests("ChangeMessageVisibilityBatch");
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_THAT(requests[0], HasSubstr(R"("Id":"2")"));
}

TEST_F(sqs_request_test, what_a_consumer_holds_no_more_is_not_given_back_when_it_closes) {
  auto receiver = consumer("&hold=1s");
  receive_one(*receiver);
  const auto until = base::boot_now() + std::chrono::milliseconds(1'100);
  wait_until("the end of the hold", [&] { return base::boot_now() >= until; });
  server_.requests();
  receiver.reset();
  EXPECT_TRUE(server_.requests("ChangeMessageVisibilityBatch").empty()) << "it is another one's";
}

TEST_F(sqs_request_test, of_a_batch_only_what_was_not_taken_is_sent_again) {
  const auto sender = publisher();
  server_.requests();
  server_.answer(200, R"({"Failed":[{"Id":"1","Code":"InternalError","SenderFault":false}]})");
  EXPECT_TRUE(sender->publish(messages(3)).has_value());
  const auto requests = server_.requests("SendMessageBatch");
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_THAT(requests[1], HasSubstr(R"("Id":"1")"));
  EXPECT_THAT(requests[1], Not(HasSubstr(R"("Id":"0")")));
  EXPECT_THAT(requests[1], Not(HasSubstr(R"("Id":"2")")));
}

TEST_F(sqs_request_test, what_the_server_refuses_of_a_batch_is_an_error) {
  const auto sender = publisher();
  server_.requests();
  server_.answer(200, R"({"Failed":[{"Id":"1","Code":"InvalidMessageContents","SenderFault":true,)"
                      R"("Message":"words"}]})");
  const auto sent = sender->publish(messages(3));
  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().code, errc::conflict);
  EXPECT_EQ(sent.error().effect, effect::unknown);
  EXPECT_THAT(sent.error().detail, HasSubstr("InvalidMessageContents: words"));
}

TEST_F(sqs_request_test, what_was_taken_beside_a_refused_one_is_not_sent_again) {
  messaging::broker_params params;
  params.url = server_.url("orders", "");
  messaging::batch_publisher sender(params);
  auto batch = messages(3);
  for (std::size_t i = 0; i < 3; ++i) batch[i].payload = "payload " + std::to_string(i);
  ASSERT_TRUE(sender.publish(messages(1)).has_value());
  server_.requests();
  server_.answer(200, R"({"Failed":[{"Id":"1","Code":"InvalidMessageContents","SenderFault":true,)"
                      R"("Message":"words"}]})");
  const auto sent = sender.publish(batch).value();
  EXPECT_TRUE(sent[0].empty() && sent[1].empty() && sent[2].empty()) << "by itself, it is taken";
  const auto requests = server_.requests("SendMessageBatch");
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_THAT(requests[1], HasSubstr("payload 1"));
  EXPECT_THAT(requests[1], Not(HasSubstr("payload 0")));
  EXPECT_THAT(requests[1], Not(HasSubstr("payload 2")));
}

TEST_F(sqs_request_test, no_request_has_more_messages_than_the_server_takes) {
  const auto sender = publisher();
  EXPECT_TRUE(sender->publish(messages(25)).has_value());
  EXPECT_EQ(server_.requests("SendMessageBatch").size(), 3u);
  auto large = messages(3);
  for (auto& each : large) each.payload.assign(400'000, 'x');
  EXPECT_TRUE(sender->publish(large).has_value());
  EXPECT_EQ(server_.requests("SendMessageBatch").size(), 2u);
}

TEST_F(sqs_request_test, what_the_server_can_not_take_is_refused_without_a_request) {
  const auto sender = publisher();
  auto too_large = messages(2);
  too_large[1].payload.assign(1'048'577, 'x');
  auto wrong_name = messages(1);
  wrong_name[0].headers = {{"a header", "x"}};
  auto twice = messages(1);
  twice[0].headers = {{"a", "x"}, {"a", "y"}};
  auto too_many = messages(1);
  for (int i = 0; i < 11; ++i) too_many[0].headers.emplace_back("h" + std::to_string(i), "x");
  server_.requests();
  for (const auto& batch : {too_large, wrong_name, twice, too_many}) {
    const auto sent = sender->publish(batch);
    ASSERT_FALSE(sent.has_value());
    EXPECT_EQ(sent.error().code, errc::conflict);
    EXPECT_EQ(sent.error().effect, effect::none);
  }
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(sqs_request_test, credentials_come_from_the_profile_of_the_file) {
  const temporary_folder folder;
  std::ofstream(folder.file("credentials"))
      << "# a comment\n[default]\naws_access_key_id = AKIDDEFAULT\r\naws_secret_access_key=one\n"
         "[ billing ]\n  aws_access_key_id=AKIDBILLING\naws_secret_access_key = two=2\n"
         "aws_session_token = from-the-file\n";
  const scoped_variable none("AWS_ACCESS_KEY_ID", std::nullopt);
  const scoped_variable nothing("AWS_SECRET_ACCESS_KEY", std::nullopt);
  const scoped_variable file("AWS_SHARED_CREDENTIALS_FILE", folder.file("credentials"));
  {
    const scoped_variable profile("AWS_PROFILE", std::nullopt);
    static_cast<void>(consumer());
    EXPECT_THAT(server_.requests().at(0), HasSubstr("Credential=AKIDDEFAULT/"));
  }
  {
    const scoped_variable profile("AWS_PROFILE", "billing");
    static_cast<void>(consumer());
    const auto requests = server_.requests();
    EXPECT_THAT(requests.at(0), HasSubstr("Credential=AKIDBILLING/"));
    EXPECT_THAT(requests.at(0), HasSubstr("X-Amz-Security-Token: from-the-file\r\n"));
  }
  const scoped_variable profile("AWS_PROFILE", "missing");
  const auto why = refusal();
  EXPECT_EQ(why.code, errc::invalid_argument);
  EXPECT_THAT(why.detail, HasSubstr("profile \"missing\""));
}

TEST_F(sqs_request_test, no_credentials_are_an_error_that_says_so) {
  const scoped_variable none("AWS_ACCESS_KEY_ID", std::nullopt);
  EXPECT_THAT(refusal().detail, HasSubstr("one is not set"));
  const scoped_variable nothing("AWS_SECRET_ACCESS_KEY", std::nullopt);
  const temporary_folder home;
  const scoped_variable folder("HOME", home.path().string());
  const scoped_variable file("AWS_SHARED_CREDENTIALS_FILE", std::nullopt);
  const scoped_variable machine("AWS_EC2_METADATA_DISABLED", "true");
  const auto why = refusal();
  EXPECT_EQ(why.code, errc::invalid_argument);
  EXPECT_THAT(why.detail, HasSubstr("no credentials for Amazon SQS"));
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(sqs_request_test, the_machine_serves_credentials_where_no_others_are) {
  const scoped_variable none("AWS_ACCESS_KEY_ID", std::nullopt);
  const scoped_variable nothing("AWS_SECRET_ACCESS_KEY", std::nullopt);
  const temporary_folder home;
  const scoped_variable folder("HOME", home.path().string());
  http_script machine([](const std::string& request) {
    if (request.starts_with("PUT")) return std::pair(200, std::string("token"));
    if (request.find("credentials/ ") != request.npos) return std::pair(200, std::string("role"));
    return std::pair(200, std::string(R"({"AccessKeyId":"AKIDROLE","SecretAccessKey":"s",)"
                                      R"("Token":"t","Expiration":"2100-01-01T00:00:00Z"})"));
  });
  const scoped_variable at("AWS_EC2_METADATA_SERVICE_ENDPOINT", machine.endpoint());
  static_cast<void>(consumer());
  const auto requests = server_.requests();
  EXPECT_THAT(requests.at(0), HasSubstr("Credential=AKIDROLE/"));
  EXPECT_THAT(requests.at(0), HasSubstr("X-Amz-Security-Token: t\r\n"));
}

TEST(sqs_url, faults_are_found) {
  using messaging::broker_role;
  const auto fault = [](const std::string& url) {
    return messaging::url_fault(url, broker_role::consumer);
  };
  for (const auto* const good :
       {"sqs://eu-central-1/orders", "sqs://eu-central-1/orders.fifo?hold=12h",
        "sqs://us-east-1/a_b-c?endpoint=http://127.0.0.1:4566/&hold=1s",
        "sqs://us-east-1/a?endpoint=https://sqs.example.org"}) {
    EXPECT_EQ(fault(good), "") << good;
  }
  for (const auto* const bad :
       {"sqs://eu-central-1", "sqs://eu-central-1/a/b", "sqs://eu-central-1/a.b",
        "sqs://eu-central-1:80/a", "sqs://key:password@eu-central-1/a", "sqs://eu.x/a",
        "sqs://eu-central-1/a?hold=500ms", "sqs://eu-central-1/a?hold=13h",
        "sqs://eu-central-1/a?endpoint=127.0.0.1:4566", "sqs://eu-central-1/a?group=x",
        "sqs://eu-central-1/a?endpoint=http://127.0.0.1:4566/path"}) {
    EXPECT_NE(fault(bad), "") << bad;
    EXPECT_EQ(fault(bad).find("password"), std::string::npos);
  }
}

}  // namespace
}  // namespace onceguard::testing
