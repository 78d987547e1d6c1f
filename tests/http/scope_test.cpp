// Whose key it is: what a caller is known by is the same at each try, and tells callers apart.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <onceguard/token_verifier.hpp>

#include "base/field.hpp"
#include "http/admission.hpp"
#include "http/authorization.hpp"
#include "http/caller_fields.hpp"

namespace onceguard::http {
namespace {

struct caller {
  route_policy policy;
  std::vector<base::field> sent;
  bool verified = false;

  [[nodiscard]] admission ask(std::vector<base::field> sent_fields) const {
    sent_fields.push_back({"Idempotency-Key", "k"});
    request arrived{"POST", "/", sent_fields, "10.0.0.1"};
    arrived.credential_verified = verified;
    return admit(policy, arrived);
  }
  [[nodiscard]] admission ask(std::string_view authorization) const {
    return ask(std::vector<base::field>{{"Authorization", authorization}});
  }
};

TEST(scope_of_a_credential, is_made_of_schemes_whose_value_stays) {
  caller one;
  for (const auto* value :
       {"Bearer a.b.c", "basic dXNlcjpwYXNz", "Token x", "ApiKey x==", "Token token=\"x\"",
        "Bearer nonce", R"(Token token="abc", email="u@x")", R"(Token token="x"; nonce="")",
        "Token token=x;nonce=;name=ann", "Bearer date="}) {
    EXPECT_EQ(one.ask(value).scope_kind, "credential") << value;
  }
}

TEST(scope_of_a_credential, is_none_of_what_is_signed_anew_for_each_try) {
  caller one;
  for (const auto* value : {
           R"(Digest username="u", realm="r", nonce="n", nc=00000001, response="x")",
           R"(OAuth oauth_consumer_key="shop", oauth_nonce="n1", oauth_signature="s")",
           "AWS4-HMAC-SHA256 Credential=AKID/20261127/eu/s3/aws4_request, Signature=ab",
           R"(Hawk id="i", ts="1", nonce="n", mac="m")",
           R"(Signature keyId="k",signature="s")",
           "GCS v1HMAC:5e45:J5Ljf",
           "Payment eyJ4Ijox",
           "Negotiate YII",
           "AWS AKID:sig",
           R"(Token token="x", nonce="def")",
           "key:signature",
           R"(Token token="x"; nonce="1")",
           "Token token=x\tts=1",
           "Token token=x mac = 1",
           R"(Token token="x", request-id="1")",
           R"(Token token="x", Body_Hash="1")",
           R"(Bearer id=1,created=2)",
       }) {
    const auto got = one.ask(value);
    EXPECT_EQ(got.refusal, problem::scope_missing) << value;
    EXPECT_THAT(got.detail, ::testing::HasSubstr("auth-param:")) << value;
    EXPECT_THAT(got.detail, ::testing::HasSubstr("credential_schemes")) << value;
  }
  EXPECT_THAT(one.ask("Payment eyJ4Ijox").detail, ::testing::HasSubstr("scheme Payment"));
}

TEST(scope_of_a_credential, is_made_of_further_schemes_that_are_listed) {
  caller one;
  one.policy.credential_schemes = {"GenieKey"};
  EXPECT_EQ(one.ask("genieKEY x").scope_kind, "credential");
  EXPECT_EQ(one.ask("GenieKey").scope_kind, "anonymous");
  EXPECT_EQ(one.ask("Bearer x").refusal, problem::scope_missing);
  EXPECT_EQ(one.ask("sk_live_1").refusal, problem::scope_missing);
  one.policy.credential_schemes = {"bare"};
  EXPECT_EQ(one.ask("sk_live_1").scope_kind, "credential");
  EXPECT_NE(one.ask("sk_live_1").scope, one.ask("sk_live_2").scope);
  EXPECT_EQ(one.ask("Bearer").scope_kind, "anonymous");
}

TEST(part_of_an_authorization, is_found_by_its_name_or_place) {
  const auto digest = R"(Digest username="A\\b", realm=r , uri="/x?a=1,b=2", response="z")";
  EXPECT_EQ(find_auth_param(digest, "USERNAME"), R"(A\b)");
  EXPECT_EQ(find_auth_param(digest, "realm"), "r");
  EXPECT_EQ(find_auth_param(digest, "uri"), "/x?a=1,b=2");
  EXPECT_EQ(find_auth_param(digest, "nonce"), std::nullopt);
  EXPECT_EQ(find_auth_param("Hawk id=\"a\", id=\"b\"", "id"), std::nullopt) << "there twice";
  EXPECT_EQ(find_auth_param("Hawk id=\"\"", "id"), std::nullopt) << "empty";
  EXPECT_EQ(find_auth_param("Hawk x=\"id=a\"", "id"), std::nullopt) << "within another one";
  const auto aws = "AWS4-HMAC-SHA256 Credential=AKID/20261127/eu/s3/aws4_request,Signature=ab";
  EXPECT_EQ(find_auth_param(aws, "credential"), "AKID") << "the date changes daily";
  EXPECT_EQ(find_auth_param("Mine credential=a/b", "credential"), "a/b");
  EXPECT_EQ(find_auth_param("AWS AKID:sig", "1"), "AKID");
  EXPECT_EQ(find_auth_param("GCS v1HMAC:5e45:J5", "2"), "5e45");
  EXPECT_EQ(find_auth_param("AWS AKID", "2"), std::nullopt);
}

TEST(part_of_an_authorization, is_found_in_a_plain_list_alone) {
  for (const auto* value : {
           R"(Digest username="alice", realm="r")",
           R"(Digest ,realm=r,,username=alice,)",
           "Digest username=\"alice\"\t, \trealm=r",
           R"(AWS4-HMAC-SHA256 username=alice/2026, SignedHeaders=a;b,Signature=ab+/==)",
           R"(Digest username="alice", uri="/x?username=1&a=1,b=2")",
       }) {
    EXPECT_THAT(find_auth_param(value, "username").value_or("none"), ::testing::StartsWith("alice"))
        << value;
  }
  for (const auto* value : {
           R"(Digest "a, username="alice", realm="r", z="b, username=mallory, realm="r")",
           R"(Digest username="alice", z="b)",
           R"(Digest username="alice" x, realm="r")",
           R"(Digest username="alice"; realm="r")",
           R"(Digest username="alice", realm=r x)",
           R"(Digest username="alice", realm=r"x)",
           R"(Digest username="alice", realm)",
           R"(Digest username="alice", =r)",
           R"(Digest username="alice", "realm"=r)",
           R"(Digest username="alice", realm =r)",
           R"(Digest username="alice", a b=r)",
           R"(Digest username="alice", username*=UTF-8''mallory)",
           R"(Digest USERNAME*="UTF-8''mallory", username="alice")",
           // where a backslash is no more than a character
           R"(Digest z="\",username=mallory,y=", username="alice", realm="r")",
           R"(Digest username="alice\\", realm="r")",
           // where quotes are
           R"(Digest z="b,username=mallory,y=c", username="alice")",
           R"(Digest z=b;username=mallory, username="alice")",
       }) {
    EXPECT_EQ(find_auth_param(value, "username"), std::nullopt) << value;
  }
  caller one;
  one.policy.scope = {scope_source::auth_param, "username"};
  one.verified = true;
  EXPECT_EQ(one.ask(R"(Digest username="alice", z="b)").refusal, problem::scope_missing);
  EXPECT_EQ(one.ask(R"(Digest username="alice", z="b")").kind, admission_kind::guard);
}

TEST(scope_of_parts_of_an_authorization, stays_while_the_rest_changes) {
  caller one;
  one.policy.scope = {scope_source::auth_param, "oauth_consumer_key,oauth_token"};
  one.verified = true;
  const auto sent = [](const std::string& token, const std::string& number) {
    return R"(OAuth oauth_consumer_key="shop", oauth_token=")" + token + R"(", oauth_nonce=")" +
           number + R"(")";
  };
  const auto first = one.ask(sent("t", "1"));
  EXPECT_EQ(first.scope_kind, "auth-param:oauth_consumer_key,oauth_token");
  EXPECT_EQ(one.ask(sent("t", "2")).scope, first.scope);
  EXPECT_NE(one.ask(sent("u", "2")).scope, first.scope);
  EXPECT_EQ(one.ask(R"(OAuth oauth_consumer_key="shop")").refusal, problem::scope_missing);
  EXPECT_EQ(one.ask("Bearer x").refusal, problem::scope_missing);
  EXPECT_EQ(one.ask("").scope_kind, "anonymous") << "to be asked for a credential";
  one.policy.anonymous = false;
  EXPECT_EQ(one.ask("").refusal, problem::scope_missing);
  const auto other = one.ask(R"(Mine oauth_consumer_key="shop", oauth_token="t")");
  EXPECT_NE(other.scope, first.scope) << "another scheme";
}

TEST(scope_of_parts_of_an_authorization, is_taken_from_nobody_who_may_have_forged_it) {
  caller one;
  one.policy.scope = {scope_source::auth_param, "username"};
  const auto* digest = R"(Digest username="ann", nonce="n")";
  EXPECT_EQ(one.ask(digest).refusal, problem::scope_missing);
  EXPECT_THAT(one.ask(digest).detail, ::testing::HasSubstr("listed proxy"));
  one.policy.replay_check = "/auth";
  EXPECT_EQ(one.ask(digest).kind, admission_kind::guard);
}

TEST(scope_of_several_sources, is_made_of_all_of_them) {
  caller one;
  one.policy.scope = {scope_source::several, {}, {{}, {scope_source::header, "x-tenant"}}};
  const auto ask = [&](std::string_view bearer, std::string_view tenant) {
    return one.ask(std::vector<base::field>{{"Authorization", bearer}, {"X-Tenant", tenant}});
  };
  const auto first = ask("Bearer x", "a");
  EXPECT_EQ(first.scope_kind, "credential + header:x-tenant");
  EXPECT_EQ(ask("Bearer x", "a").scope, first.scope);
  EXPECT_NE(ask("Bearer x", "b").scope, first.scope);
  EXPECT_NE(ask("Bearer y", "a").scope, first.scope);
  EXPECT_EQ(ask("Bearer x", "").refusal, problem::scope_missing);
  EXPECT_EQ(ask("", "a").scope_kind, "anonymous + header:x-tenant");
  EXPECT_FALSE(ask("", "a").more.empty());
}

TEST(fields_of_anonymous_callers, tell_them_apart_but_for_a_list_of_harmless_ones) {
  for (const auto* name : {"X-Forwarded-Client-Cert",
                           "Signature-Input",
                           "Cf-Access-Jwt-Assertion",
                           "X-Client-Id",
                           "X-Amzn-Mtls-Clientcert-Subject",
                           "X-Amzn-Oidc-Identity",
                           "Ssl-Client-S-Dn",
                           "X-Device-Id",
                           "X-Forwarded-Host",
                           "X-Real-Ip",
                           "Client-Cert",
                           "X-Whatever",
                           "Proxy-Authorization",
                           "Cookie",
                           "Host",
                           "Origin",
                           "DPoP",
                           "X-Goog-Iap-Jwt-Assertion",
                           "X-Partner",
                           "X-Nonce-Owner",
                           "X-Request-Id-Issuer"}) {
    EXPECT_TRUE(tells_callers_apart(name)) << name;
  }
  for (const auto* name : {"Accept",
                           "accept-language",
                           "Content-Type",
                           "Content-Length",
                           "User-Agent",
                           "Date",
                           "traceparent",
                           "X-B3-TraceId",
                           "X-Request-Id",
                           "X-Forwarded-For",
                           "X-Forwarded-Proto",
                           "Forwarded",
                           "Via",
                           "Sec-Fetch-Mode",
                           "Connection",
                           "Transfer-Encoding",
                           "Expect",
                           "Onceguard-Scope",
                           "Idempotency-Key",
                           "Referer",
                           "Cache-Control",
                           "X-Client-Request-Id",
                           "x-ms-client-request-id",
                           "X-User-Request-Id",
                           "X-Correlation-Id",
                           "X-Amzn-Trace-Id",
                           "X-Envoy-Attempt-Count",
                           "Retry-Attempt",
                           "X-Request-Start",
                           "X-Nonce",
                           "X-Timestamp"}) {
    EXPECT_FALSE(tells_callers_apart(name)) << name;
  }
}

TEST(fields_of_anonymous_callers, are_all_but_the_key) {
  caller one;
  one.policy.key = {key_source{.location = key_location::header, .header = "X-Id", .pointer = {}}};
  const std::vector<base::field> sent_fields{
      {"X-Id", "k"}, {"X-Client-Id", "7"}, {"Accept", "*/*"}};
  const auto got = admit(one.policy, request{"POST", "/", sent_fields, ""});
  EXPECT_THAT(got.more, ::testing::ElementsAre("all fields", "x-client-id:7"));
  EXPECT_TRUE(got.more_before.empty());
}

/// Refuses every token.
class stern final : public token_verifier {
 public:
  result<std::string> verify(std::string_view, std::string_view) const override {
    return error(errc::invalid_argument, "the token has expired");
  }
};

TEST(former_scope, that_is_not_there_has_no_record_and_one_that_is_unreadable_may_have) {
  caller one;
  one.policy.scope = {scope_source::header, "x-shop"};
  one.policy.tokens = std::make_shared<const stern>();
  const auto ask = [&](scope_rule former, std::vector<base::field> sent_fields) {
    one.policy.previous_scope = {std::move(former)};
    sent_fields.push_back({"X-Shop", "s"});
    return one.ask(std::move(sent_fields));
  };
  const scope_rule header{scope_source::header, "x-tenant"};
  const scope_rule cookie{scope_source::cookie, "s"};
  const scope_rule jwt{scope_source::jwt, "sub"};
  EXPECT_EQ(ask(header, {}).kind, admission_kind::guard);
  EXPECT_EQ(ask(header, {{"X-Tenant", ""}}).kind, admission_kind::guard);
  EXPECT_EQ(ask(cookie, {{"Cookie", "xs=1; t=s=2"}}).kind, admission_kind::guard);
  EXPECT_EQ(ask(jwt, {}).kind, admission_kind::guard);
  EXPECT_EQ(ask(jwt, {{"Authorization", "Basic eDp5"}}).kind, admission_kind::guard);
  // An Authorization of any scheme made a scope once.
  EXPECT_EQ(ask({}, {{"Authorization", "Digest username=u"}}).former.size(), 1u);

  for (const auto& [rule, sent_fields] :
       std::vector<std::pair<scope_rule, std::vector<base::field>>>{
           {header, {{"X-Tenant", "a"}, {"X-Tenant", "a"}}},
           {header, {{"X_Tenant", "a"}}},
           {cookie, {{"Cookie", "s=1; s=2"}}},
           {jwt, {{"Authorization", "Bearer x"}}},
           {jwt, {{"Authorization", "Bearer x"}, {"Authorization", "Bearer x"}}},
           {{}, {{"Authorization", "Bearer x"}, {"Authorization", "Bearer x"}}}}) {
    const auto got = ask(rule, sent_fields);
    EXPECT_EQ(got.refusal, problem::scope_missing) << rule.text();
    EXPECT_THAT(got.detail, ::testing::HasSubstr("former scope of this route, " + rule.text()));
  }
  const auto expired = ask(jwt, {{"Authorization", "Bearer x"}});
  EXPECT_THAT(expired.detail, ::testing::HasSubstr("the token has expired"));
}

}  // namespace
}  // namespace onceguard::http
