// Where credentials come from: what a container and a machine serve, and when it is asked again.
#include <fstream>
#include <list>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aws/credential_source.hpp"
#include "aws/metadata.hpp"
#include "base/time_text.hpp"
#include "support/http_script.hpp"
#include "support/manual_clock.hpp"
#include "support/scoped_variable.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr milliseconds timeout{60'000};

/// Nothing is known but what a server on this machine serves.
class aws_credentials_test : public ::testing::Test {
 protected:
  aws_credentials_test() {
    for (const auto* const name :
         {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
          "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
          "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
          "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_EC2_METADATA_DISABLED"}) {
      unset_.emplace_back(name, std::nullopt);
    }
    unset_.emplace_back("HOME", folder_.file("home"));
    unset_.emplace_back("AWS_EC2_METADATA_SERVICE_ENDPOINT", server_.endpoint());
  }

  static std::string document(const std::string& key, std::int64_t end) {
    auto text = base::time_text(end);
    text.replace(text.size() - 5, 5, "Z");  // Amazon writes whole seconds
    return R"({"Code":"Success","AccessKeyId":")" + key +
           R"(","SecretAccessKey":"the-secret","Token":"the-token","Expiration":")" + text + "\"}";
  }
  void serve_role(const std::string& key, std::int64_t end) {
    server_.answer(200, "metadata-token");
    server_.answer(200, "gateway-role\n");
    server_.answer(200, document(key, end));
  }

  temporary_folder folder_;
  http_script server_{[](const std::string&) { return std::pair(404, std::string()); }};
  std::list<scoped_variable> unset_;
  base::manual_clock clock_;
};

TEST_F(aws_credentials_test, a_machine_serves_its_role_to_those_who_have_a_token) {
  serve_role("AKIDROLE", 1'800'000'000'000);
  const auto found = aws::fetch_served_credentials(timeout).value();
  EXPECT_EQ(found.key_id, "AKIDROLE");
  EXPECT_EQ(found.secret, "the-secret");
  EXPECT_EQ(found.session_token, "the-token");
  EXPECT_EQ(found.expires_at, 1'800'000'000'000);
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_THAT(requests[0], HasSubstr("PUT /latest/api/token HTTP/1.1\r\n"));
  EXPECT_THAT(requests[0], HasSubstr("X-aws-ec2-metadata-token-ttl-seconds: 21600\r\n"));
  EXPECT_THAT(requests[1], HasSubstr("GET /latest/meta-data/iam/security-credentials/ HTTP"));
  EXPECT_THAT(requests[1], HasSubstr("X-aws-ec2-metadata-token: metadata-token\r\n"));
  EXPECT_THAT(requests[2], HasSubstr("/iam/security-credentials/gateway-role HTTP"));
  EXPECT_THAT(requests[2], HasSubstr("X-aws-ec2-metadata-token: metadata-token\r\n"));
}

TEST_F(aws_credentials_test, a_container_serves_them_to_those_who_have_its_token) {
  std::ofstream(folder_.file("token")) << "from-the-file\n";
  const scoped_variable url("AWS_CONTAINER_CREDENTIALS_FULL_URI",
                            server_.endpoint() + "/creds?a=b");
  const scoped_variable file("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", folder_.file("token"));
  server_.answer(200, document("AKIDCONTAINER", 1'800'000'000'000));
  EXPECT_EQ(aws::fetch_served_credentials(timeout).value().key_id, "AKIDCONTAINER");
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_THAT(requests[0], HasSubstr("GET /creds?a=b HTTP/1.1\r\n"));
  EXPECT_THAT(requests[0], HasSubstr("Authorization: from-the-file\r\n"));
}

TEST_F(aws_credentials_test, a_container_is_not_asked_elsewhere_in_clear) {
  for (const auto* const wrong : {"http://10.0.0.1/", "http://localhost@10.0.0.1/",
                                  "http://127.0.0.1@evil/", "ftp://localhost/"}) {
    const scoped_variable url("AWS_CONTAINER_CREDENTIALS_FULL_URI", wrong);
    EXPECT_EQ(aws::fetch_served_credentials(timeout).error().code, errc::invalid_argument) << wrong;
  }
}

TEST_F(aws_credentials_test, what_is_no_such_document_is_an_error_without_secrets) {
  for (const auto* const wrong :
       {"", "[]", R"({"AccessKeyId":"a"})", R"({"AccessKeyId":1,"SecretAccessKey":"the-secret"})",
        R"({"AccessKeyId":"a","SecretAccessKey":"the-secret","Expiration":"soon"})"}) {
    server_.answer(200, "metadata-token");
    server_.answer(200, "role");
    server_.answer(200, wrong);
    const auto found = aws::fetch_served_credentials(timeout);
    ASSERT_FALSE(found) << wrong;
    EXPECT_THAT(found.error().detail, Not(HasSubstr("the-secret")));
    EXPECT_THAT(found.error().detail, Not(HasSubstr("metadata-token")));
  }
}

TEST_F(aws_credentials_test, without_any_the_error_names_all_places) {
  aws::credential_source source("Amazon DynamoDB", timeout, clock_);
  const auto found = source.current();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::invalid_argument);
  EXPECT_THAT(found.error().detail, HasSubstr("no credentials for Amazon DynamoDB"));
  EXPECT_THAT(found.error().detail, HasSubstr("AWS_ACCESS_KEY_ID is not set"));
  EXPECT_THAT(found.error().detail, HasSubstr(server_.endpoint()));
  const scoped_variable forbidden("AWS_EC2_METADATA_DISABLED", "TRUE");
  server_.requests();
  EXPECT_THAT(source.current().error().detail, HasSubstr("AWS_EC2_METADATA_DISABLED"));
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(aws_credentials_test, a_profile_that_was_named_is_not_replaced_by_another_identity) {
  const scoped_variable profile("AWS_PROFILE", "billing");
  aws::credential_source source("Amazon SQS", timeout, clock_);
  EXPECT_EQ(source.current().error().code, errc::invalid_argument);
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(aws_credentials_test, they_are_fetched_once_and_renewed_before_they_expire) {
  const auto now = clock_.wall_ms();
  constexpr std::int64_t minute = 60'000;
  serve_role("AKIDFIRST", now + 60 * minute);
  aws::credential_source source("Amazon SQS", timeout, clock_);
  EXPECT_EQ(source.current().value().key_id, "AKIDFIRST");
  EXPECT_EQ(source.current().value().key_id, "AKIDFIRST");
  EXPECT_EQ(server_.requests().size(), 3u);
}

TEST_F(aws_credentials_test, those_that_are_about_to_expire_are_renewed_while_they_are_used) {
  const auto now = clock_.wall_ms();
  constexpr std::int64_t minute = 60'000;
  serve_role("AKIDFIRST", now + 4 * minute);
  serve_role("AKIDNEXT", now + 400 * minute);
  aws::credential_source source("Amazon SQS", timeout, clock_);
  EXPECT_EQ(source.current().value().key_id, "AKIDFIRST");
  wait_until("the renewal", [&] { return source.current().value().key_id == "AKIDNEXT"; });
}

TEST_F(aws_credentials_test, those_that_the_server_calls_expired_are_fetched_anew) {
  const auto now = clock_.wall_ms();
  serve_role("AKIDFIRST", now + 3'600'000);
  aws::credential_source source("Amazon SQS", timeout, clock_);
  const auto first = source.current().value();
  serve_role("AKIDNEXT", now + 3'600'000);
  source.refuse(first);
  EXPECT_EQ(source.current().value().key_id, "AKIDNEXT");
}

TEST_F(aws_credentials_test, while_the_machine_is_silent_the_expired_ones_are_not_used) {
  const auto now = clock_.wall_ms();
  serve_role("AKIDFIRST", now + 3'600'000);
  aws::credential_source source("Amazon SQS", timeout, clock_);
  EXPECT_TRUE(source.current());
  clock_.advance(milliseconds(3'600'000));
  EXPECT_FALSE(source.current());
}

}  // namespace
}  // namespace onceguard::testing
