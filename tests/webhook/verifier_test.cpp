#include "webhook/verifier.hpp"

#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/field.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "webhook/hmac.hpp"

namespace onceguard::webhook {
namespace {

using base::field;

sender github() {
  sender out;
  out.name = "github";
  out.id = {*parse_id("header:X-GitHub-Delivery")};
  out.signature = *parse_source("header:X-Hub-Signature-256");
  out.prefix = "sha256=";
  return out;
}

sender standard() {
  sender out;
  out.name = "standard-webhooks";
  out.id = {*parse_id("header:webhook-id")};
  out.signature = *parse_source("header:webhook-signature");
  out.separator = signature_separator::space;
  out.prefix = "v1,";
  out.encoding = signature_encoding::base64;
  out.content = *parse_pattern("{id}.{timestamp}.{body}");
  out.secret = secret_form::whsec;
  out.timestamp = *parse_source("header:webhook-timestamp");
  out.tolerance_seconds = 300;
  return out;
}

sender slack() {
  sender out;
  out.name = "slack";
  out.id = {*parse_id("json:/event_id"), *parse_id("form:trigger_id")};
  out.signature = *parse_source("header:X-Slack-Signature");
  out.prefix = "v0=";
  out.content = *parse_pattern("v0:{timestamp}:{body}");
  out.timestamp = *parse_source("header:X-Slack-Request-Timestamp");
  out.tolerance_seconds = 300;
  return out;
}

// The example of https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
constexpr const char* github_secret = "It's a Secret to Everybody";
constexpr std::string_view github_body = "Hello, World!";
constexpr std::string_view github_signature =
    "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

finding check_github(std::vector<field> fields, std::string_view body = github_body,
                     std::vector<std::string> secrets = {github_secret}) {
  return verifier(github(), {.secrets = std::move(secrets)}).check({fields, body, 0});
}

TEST(verifier, takes_the_published_example_of_github) {
  const auto found =
      check_github({{"X-GitHub-Delivery", "72d3162e"}, {"X-Hub-Signature-256", github_signature}});
  EXPECT_EQ(found.verdict, verdict::genuine);
  EXPECT_EQ(found.id, "72d3162e");
}

TEST(verifier, takes_any_of_several_secrets) {
  const std::vector<field> fields{{"X-GitHub-Delivery", "a"},
                                  {"X-Hub-Signature-256", github_signature}};
  EXPECT_EQ(check_github(fields, github_body, {"new", github_secret}).verdict, verdict::genuine);
  EXPECT_EQ(check_github(fields, github_body, {"new"}).verdict, verdict::forged);
  EXPECT_EQ(check_github(fields, github_body, {}).verdict, verdict::forged);
}

TEST(verifier, refuses_what_the_sender_did_not_sign) {
  const field id{"X-GitHub-Delivery", "a"};
  const std::string longer = std::string(github_signature) + "00";
  EXPECT_EQ(check_github({id}).verdict, verdict::forged);
  EXPECT_EQ(check_github({id, {"X-Hub-Signature-256", github_signature}}, "Hello, world!").verdict,
            verdict::forged);
  for (const std::string_view wrong :
       {std::string_view("sha256="), std::string_view(""), github_signature.substr(7),
        github_signature.substr(0, 70), std::string_view(longer),
        std::string_view(
            "sha256=zz7107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")}) {
    EXPECT_EQ(check_github({id, {"X-Hub-Signature-256", wrong}}).verdict, verdict::forged) << wrong;
  }
}

TEST(verifier, refuses_a_second_signature_or_id_header) {
  const field id{"X-GitHub-Delivery", "a"};
  const field good{"X-Hub-Signature-256", github_signature};
  EXPECT_EQ(check_github({id, good, good}).verdict, verdict::forged);
  EXPECT_EQ(check_github({id, good, {"X_Hub_Signature_256", "x"}}).verdict, verdict::forged);
  EXPECT_EQ(check_github({id, id, good}).verdict, verdict::no_id);
  EXPECT_EQ(check_github({good}).verdict, verdict::no_id);
}

// The example of the specification of Standard Webhooks, as its libraries test it.
struct standard_example {
  std::string_view id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
  std::string_view timestamp = "1614265330";
  std::string_view body = R"({"test": 2432232314})";
  std::string_view signatures = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
  std::int64_t now = 1614265330;

  [[nodiscard]] webhook::verdict check() const {
    const std::vector<field> fields{
        {"webhook-id", id}, {"webhook-timestamp", timestamp}, {"webhook-signature", signatures}};
    const auto secret = decode_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", secret_form::whsec);
    return verifier(standard(), {.secrets = {*secret}}).check({fields, body, now}).verdict;
  }
};

TEST(verifier, takes_the_published_example_of_standard_webhooks) {
  standard_example example;
  EXPECT_EQ(example.check(), verdict::genuine);
  example.signatures = "v1a,x v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1,BBBB";
  EXPECT_EQ(example.check(), verdict::genuine);
  example.id = "msg_other";
  EXPECT_EQ(example.check(), verdict::forged);
}

TEST(verifier, takes_a_timestamp_within_the_tolerance_on_either_side) {
  standard_example example;
  for (const std::int64_t apart : {-301, -300, 300, 301}) {
    example.now = 1614265330 + apart;
    const bool within = apart == -300 || apart == 300;
    EXPECT_EQ(example.check(), within ? verdict::genuine : verdict::expired) << apart;
  }
  example.timestamp = "1614265331";
  EXPECT_EQ(example.check(), verdict::forged);
}

// The example of https://docs.slack.dev/authentication/verifying-requests-from-slack
TEST(verifier, takes_the_published_example_of_slack) {
  constexpr std::string_view body =
      "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow"
      "&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner"
      "&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands"
      "%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
      "&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
  const std::vector<field> fields{
      {"X-Slack-Request-Timestamp", "1531420618"},
      {"X-Slack-Signature", "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"}};
  const verifier slack_alone(slack(), {.secrets = {"8f742231b10e8888abcd99yyyzzz85a5"}});
  const auto found = slack_alone.check({fields, body, 1531420618});
  EXPECT_EQ(found.verdict, verdict::genuine);
  EXPECT_EQ(found.id, "398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c");
}

/// One that puts its time beside its signatures.
sender timed() {
  sender out;
  out.name = "timed";
  out.id = {*parse_id("json:/id")};
  out.signature = *parse_source("header:X-Signature");
  out.separator = signature_separator::comma;
  out.prefix = "v1=";
  out.content = *parse_pattern("{timestamp}.{body}");
  out.timestamp = *parse_source("signature:t");
  out.tolerance_seconds = 300;
  return out;
}

/// The signature of this text, in hex.
std::string signature_of(std::string_view text) {
  const auto made = hmac_of(hmac_hash::sha256, "a secret", text);
  return base::to_hex({reinterpret_cast<const unsigned char*>(made.data()), made.size()});
}

verdict check_timed(const std::string& signature) {
  const std::vector<field> fields{{"X-Signature", signature}};
  const verifier own(timed(), {.secrets = {"a secret"}});
  return own.check({fields, R"({"id":"a"})", 1'000}).verdict;
}

TEST(verifier, takes_a_timestamp_that_is_there_once_and_a_time) {
  const auto mark = signature_of(R"(1000.{"id":"a"})");
  EXPECT_EQ(check_timed("t=1000,v1=" + mark), verdict::genuine);
  EXPECT_EQ(check_timed("t=1000, v1=00, v1=" + mark), verdict::genuine);
  EXPECT_EQ(check_timed("v1=" + mark), verdict::forged);
  EXPECT_EQ(check_timed("t=1,t=1000,v1=" + mark), verdict::forged);
  EXPECT_EQ(check_timed("t=1000,t=1000,v1=" + mark), verdict::forged);
  for (const std::string when : {"soon", "1000.0", "-1"}) {
    const auto signed_so = signature_of(when + R"(.{"id":"a"})");
    EXPECT_EQ(check_timed("t=" + when + ",v1=" + signed_so), verdict::expired) << when;
  }
}

TEST(verifier, takes_no_signature_of_another_scheme) {
  const auto mark = signature_of(R"(1000.{"id":"a"})");
  for (const auto* scheme : {"v0=", "v2=", "V1=", "v1:"}) {
    EXPECT_EQ(check_timed("t=1000," + (scheme + mark)), verdict::forged) << scheme;
  }
}

/// What is found in a delivery of this sender, signed over the body.
finding check_body(std::string_view id, std::string_view body) {
  sender own;
  own.name = "own";
  own.id = {*parse_id(id)};
  own.signature = *parse_source("header:X-Signature");
  const auto mark = signature_of(body);
  const std::vector<field> fields{{"X-Signature", mark}};
  return verifier(own, {.secrets = {"a secret"}}).check({fields, body});
}

TEST(verifier, makes_no_id_of_values_that_run_into_one_another) {
  constexpr auto* both = "{json:/a}:{json:/b}";
  EXPECT_EQ(check_body(both, R"({"a":"1","b":"2"})").id, "1:2");
  for (const auto* body : {R"({"a":"1:2","b":"3"})", R"({"a":"1","b":"2:3"})", R"({"a":"1"})",
                           R"({"a":"1","b":""})"}) {
    EXPECT_EQ(check_body(both, body).verdict, verdict::no_id) << body;
  }
}

TEST(verifier, makes_no_id_of_a_value_that_is_there_twice) {
  EXPECT_EQ(check_body("form:id", "id=a&x=b").id, "a");
  EXPECT_EQ(check_body("form:id", "id=a&id=b").verdict, verdict::no_id);
  EXPECT_EQ(check_body("form:id", "id=a&id=a").verdict, verdict::no_id);
}

TEST(verifier, takes_no_delivery_with_two_hashes_of_its_body) {
  sender own;
  own.name = "own";
  own.id = {*parse_id("signed-hash")};
  own.signature = *parse_source("header:X-Signature");
  own.content = *parse_pattern("{url}{form}");
  own.body_hash = *parse_source("query:h");
  const verifier checking(
      own, {.secrets = {"a secret"}, .urls = {"https://shop.example/hook"}, .path = "/hook"});
  const auto check = [&](std::string_view query) {
    const auto mark = signature_of("https://shop.example/hook" + std::string(query) + "a1");
    const std::vector<field> fields{{"X-Signature", mark}};
    const auto target = "/hook" + std::string(query);
    return checking.check({fields, "a=1", 0, target}).verdict;
  };
  EXPECT_EQ(check("?x=1"), verdict::genuine);
  EXPECT_EQ(check("?h=00&h=01"), verdict::forged);
}

TEST(hmac, is_that_of_rfc_2202_and_4231) {
  const auto hex = [](const std::string& bytes) {
    std::string out;
    for (const char c : bytes) {
      constexpr std::string_view digits = "0123456789abcdef";
      out += digits[static_cast<unsigned char>(c) >> 4];
      out += digits[static_cast<unsigned char>(c) & 15];
    }
    return out;
  };
  constexpr std::string_view text = "what do ya want for nothing?";
  EXPECT_EQ(hex(hmac_of(hmac_hash::sha1, "Jefe", text)),
            "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
  EXPECT_EQ(hex(hmac_of(hmac_hash::sha256, "Jefe", text)),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(verifier, finds_the_id_of_what_a_person_did_in_slack) {
  auto about = slack();
  about.id.push_back(*parse_id("form:payload:/trigger_id"));
  const std::string body = "payload=%7B%22type%22%3A%22block_actions%22%2C%22trigger_id%22%3A%22" +
                           std::string("13345.67%22%7D");
  const auto mac = hmac_of(hmac_hash::sha256, "s", "v0:1531420618:" + body);
  const auto* bytes = reinterpret_cast<const unsigned char*>(mac.data());
  const std::string signature = "v0=" + base::to_hex(std::span(bytes, mac.size()));
  const std::vector<field> fields{{"X-Slack-Signature", signature},
                                  {"X-Slack-Request-Timestamp", "1531420618"}};
  const auto found = verifier(about, {.secrets = {"s"}}).check({fields, body, 1531420618});
  EXPECT_EQ(found.verdict, verdict::genuine);
  EXPECT_EQ(found.id, "13345.67");
}

}  // namespace
}  // namespace onceguard::webhook
