// Scopes that are made of a token: whose it is, is said by one token or by none.
#include <vector>

#include <gtest/gtest.h>

#include <onceguard/token_verifier.hpp>

#include "base/field.hpp"
#include "http/admission.hpp"

namespace onceguard::http {
namespace {

/// Takes every token, and says that it is its own subject.
class gullible final : public token_verifier {
 public:
  result<std::string> verify(std::string_view token, std::string_view) const override {
    return std::string(token);
  }
};

admission ask(std::vector<base::field> sent) {
  route_policy policy;
  policy.scope = {scope_source::jwt, "sub"};
  policy.tokens = std::make_shared<const gullible>();
  sent.push_back({"Idempotency-Key", "k"});
  return admit(policy, {"POST", "/", sent, {}});
}

TEST(scope_of_a_token, is_that_of_its_subject) {
  const auto ann = ask({{"Authorization", "Bearer ann"}});
  EXPECT_EQ(ann.kind, admission_kind::guard);
  EXPECT_EQ(ann.scope_kind, "jwt:sub");
  EXPECT_EQ(ask({{"authorization", "bEARER  ann "}}).scope, ann.scope);
  EXPECT_NE(ask({{"Authorization", "Bearer bob"}}).scope, ann.scope);
}

// Services differ in which of two they believe.
TEST(scope_of_a_token, is_none_of_two_tokens) {
  for (const auto* second : {"Bearer bob", "Bearer ann", ""}) {
    const auto both = ask({{"Authorization", "Bearer ann"}, {"Authorization", second}});
    EXPECT_EQ(both.refusal, problem::scope_missing) << second;
    EXPECT_NE(both.detail.find("more than one Authorization"), std::string::npos) << both.detail;
  }
}

TEST(scope_of_a_token, is_none_of_another_credential) {
  for (const auto* other : {"Basic YTpi", "Bearer", "bearerann", "ann"}) {
    EXPECT_EQ(ask({{"Authorization", other}}).refusal, problem::scope_missing) << other;
  }
}

}  // namespace
}  // namespace onceguard::http
