#include "jwt/token.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/base64.hpp"

namespace onceguard::jwt {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The examples of RFC 7515 (appendices A.1 and A.3) and RFC 8037 (appendix A).
constexpr std::string_view hmac_key =
    R"({"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0i)"
    R"(PS4hcgUuTwjAzZr1Z9CAow"})";
constexpr std::string_view hmac_token =
    "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    "."
    "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
constexpr std::string_view curve_key =
    R"({"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
    R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"})";
constexpr std::string_view curve_token =
    "eyJhbGciOiJFUzI1NiJ9."
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    "."
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
constexpr std::string_view edwards_key =
    R"({"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})";
constexpr std::int64_t end_of_examples = 1'300'819'380;

std::string set_of(std::string_view keys) { return R"({"keys":[)" + std::string(keys) + "]}"; }

std::vector<key> keys_of(std::string_view keys) {
  auto read = read_key_set(set_of(keys));
  EXPECT_TRUE(read) << read.error().detail;
  return read ? *read : std::vector<key>();
}

std::string base64url(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  while (out.ends_with('=')) out.pop_back();
  for (char& c : out) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return out;
}

constexpr std::string_view secret = "0123456789abcdef0123456789abcdef";

std::string sign(std::string_view header, std::string_view payload, std::string_view key = secret) {
  const auto text = base64url(header) + "." + base64url(payload);
  unsigned char made[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), made, &size);
  return text + "." + base64url({reinterpret_cast<const char*>(made), size});
}

class claims : public ::testing::Test {
 protected:
  [[nodiscard]] std::string answer_for(const std::string& payload,
                                       const std::string& claim = "sub") const {
    const auto out = verify(sign(R"({"alg":"HS256"})", payload), claim, keys, rules, 1'000);
    return out ? *out : out.error().detail;
  }
  [[nodiscard]] std::string answer_to(const std::string& token) const {
    const auto out = verify(token, "sub", keys, rules, 1'000);
    return out ? *out : out.error().detail;
  }

  std::vector<key> keys = keys_of(R"({"kty":"oct","k":")" + base64url(secret) + R"("})");
  jwt::rules rules;
};

TEST(examples, of_the_standards_verify) {
  const rules exact{.issuer = {}, .audience = {}, .leeway_s = 0};
  for (const auto& [jwk, token] : {std::pair(hmac_key, hmac_token), {curve_key, curve_token}}) {
    const auto keys = keys_of(jwk);
    const auto read = verify(token, "iss", keys, exact, end_of_examples - 1);
    ASSERT_TRUE(read) << read.error().detail;
    EXPECT_EQ(*read, "3:joejoe");
    EXPECT_EQ(verify(token, "iss", keys, exact, end_of_examples).error().detail,
              "the token has expired");
    for (std::size_t i = 0; i < token.size(); ++i) {
      std::string forged(token);
      forged[i] = forged[i] == 'A' ? 'B' : 'A';
      if (i + 1 == token.size()) continue;  // its last bits may count for nothing
      EXPECT_FALSE(verify(forged, "iss", keys, exact, end_of_examples - 1)) << i;
    }
  }
  const auto signature = base::from_base64url(
      "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg");
  ASSERT_TRUE(signature);
  const auto edwards = keys_of(edwards_key);
  const auto& algorithm = *find_algorithm("EdDSA");
  constexpr std::string_view text = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
  EXPECT_TRUE(edwards.front().verifies(algorithm, *signature, text));
  EXPECT_FALSE(edwards.front().verifies(algorithm, *signature, "x"));
}

TEST_F(claims, the_issuer_is_part_of_who_it_is) {
  EXPECT_EQ(answer_for(R"({"sub":"ann"})"), "0:ann");
  EXPECT_EQ(answer_for(R"({"sub":"ann","iss":"x"})"), "1:xann");
  EXPECT_NE(answer_for(R"({"sub":"b","iss":"a"})"), answer_for(R"({"sub":"ab"})"));
  EXPECT_EQ(answer_for(R"({"sub":12345678901234567890})"), "number 0:12345678901234567890");
  EXPECT_EQ(answer_for(R"({"sub":"ann","tenant":7})", "tenant"), "number 0:7");
}

TEST_F(claims, that_name_nobody_are_none) {
  for (const auto* payload : {R"({})", R"({"sub":""})", R"({"sub":null})", R"({"sub":true})",
                              R"({"sub":1.5})", R"({"sub":["ann"]})", R"({"sub":{"a":1}})"}) {
    EXPECT_THAT(answer_for(payload), HasSubstr("lacks the claim")) << payload;
  }
  EXPECT_THAT(answer_for(R"({"sub":"ann","sub":"bob"})"), HasSubstr("claims are no JSON object"));
  EXPECT_THAT(answer_for(R"({"sub":"ann","x":{"y":{}},"sub":"bob"})"),
              HasSubstr("claims are no JSON object"));
  EXPECT_EQ(answer_for(R"({"x":{"sub":"bob"},"y":{"sub":"eve"},"sub":"ann"})"), "0:ann");
  EXPECT_THAT(answer_for(R"(["sub"])"), HasSubstr("claims are no JSON object"));
}

TEST_F(claims, times_count_with_the_leeway) {
  rules.leeway_s = 60;
  EXPECT_EQ(answer_for(R"({"sub":"a","exp":941})"), "0:a");
  EXPECT_EQ(answer_for(R"({"sub":"a","exp":940})"), "the token has expired");
  EXPECT_EQ(answer_for(R"({"sub":"a","exp":940.5})"), "0:a");
  EXPECT_EQ(answer_for(R"({"sub":"a","nbf":1060})"), "0:a");
  EXPECT_EQ(answer_for(R"({"sub":"a","nbf":1061})"), "the token is not valid yet");
  EXPECT_EQ(answer_for(R"({"sub":"a","exp":"tomorrow"})"), "the token's exp is no number");
  EXPECT_EQ(answer_for(R"({"sub":"a","nbf":null})"), "the token's nbf is no number");
  EXPECT_EQ(answer_for(R"({"sub":"a","exp":1e400})"),
            "the token's claims are no JSON object in base64url");
}

TEST_F(claims, issuer_and_audience_are_asked_for) {
  rules.issuer = "https://login.example";
  EXPECT_EQ(answer_for(R"({"sub":"a"})"), "the token is of another issuer");
  EXPECT_EQ(answer_for(R"({"sub":"a","iss":"https://login.example/"})"),
            "the token is of another issuer");
  EXPECT_EQ(answer_for(R"({"sub":"a","iss":7})"), "the token's iss is no text");
  EXPECT_THAT(answer_for(R"({"sub":"a","iss":"https://login.example"})"), HasSubstr("examplea"));
  rules.issuer.clear();
  rules.audience = "api";
  for (const auto* other : {"", R"(,"aud":"other")", R"(,"aud":["x"])", R"(,"aud":7)"}) {
    EXPECT_EQ(answer_for(R"({"sub":"a")" + std::string(other) + "}"),
              "the token is for another audience");
  }
  EXPECT_EQ(answer_for(R"({"sub":"a","aud":"api"})"), "0:a");
  EXPECT_EQ(answer_for(R"({"sub":"a","aud":["x","api"]})"), "0:a");
}

TEST_F(claims, the_key_chooses_the_algorithm) {
  constexpr auto payload = R"({"sub":"a"})";
  EXPECT_EQ(answer_to(base64url(R"({"alg":"none"})") + "." + base64url(payload) + "."),
            "the token's algorithm is none that is accepted");
  for (const auto* header : {R"({"alg":"nOnE"})", R"({"alg":"HS1"})", R"({"alg":"A128KW"})"}) {
    EXPECT_EQ(answer_to(sign(header, payload)), "the token's algorithm is none that is accepted");
  }
  EXPECT_EQ(answer_to(sign(R"({"alg":"RS256"})", payload)), "the token's key is not known");
  // 32 bytes are too few for it (RFC 7518 section 3.2).
  EXPECT_EQ(answer_to(sign(R"({"alg":"HS512"})", payload)), "the token's key is not known");
  EXPECT_EQ(answer_to(sign(R"({})", payload)), "the token names no algorithm");
  EXPECT_EQ(answer_to(sign(R"({"alg":7})", payload)), "the token names no algorithm");
  EXPECT_EQ(answer_to(sign(R"({"alg":"HS256","alg":"none"})", payload)),
            "the token's header is no JSON object in base64url");
  EXPECT_THAT(answer_to(sign(R"({"alg":"HS256","crit":["b64"],"b64":false})", payload)),
              HasSubstr("critical extensions"));
  keys = keys_of(R"({"kty":"oct","alg":"HS384","k":")" + base64url(std::string(48, 'k')) + R"("})");
  EXPECT_EQ(answer_to(sign(R"({"alg":"HS256"})", payload, std::string(48, 'k'))),
            "the token's key is not known");
}

TEST_F(claims, a_public_key_is_no_secret) {
  keys = keys_of(curve_key);
  for (const auto text :
       {curve_key, std::string_view("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU")}) {
    EXPECT_EQ(answer_to(sign(R"({"alg":"HS256"})", R"({"sub":"a"})", text)),
              "the token's key is not known");
  }
}

TEST_F(claims, the_kid_names_the_key) {
  keys = keys_of(R"({"kty":"oct","kid":"one","k":")" + base64url(std::string(32, 'x')) +
                 R"("},{"kty":"oct","kid":"two","k":")" + base64url(secret) + R"("})");
  EXPECT_EQ(answer_to(sign(R"({"alg":"HS256","kid":"two"})", R"({"sub":"a"})")), "0:a");
  EXPECT_EQ(answer_to(sign(R"({"alg":"HS256"})", R"({"sub":"a"})")), "0:a");
  EXPECT_EQ(answer_to(sign(R"({"alg":"HS256","kid":"one"})", R"({"sub":"a"})")),
            "the token's signature is wrong");
  EXPECT_EQ(answer_to(sign(R"({"alg":"HS256","kid":"three"})", R"({"sub":"a"})")),
            "the token's key is not known");
  EXPECT_EQ(answer_to(sign(R"({"alg":"HS256","kid":7})", R"({"sub":"a"})")),
            "the token's kid is no text");
}

TEST_F(claims, what_is_no_token_is_refused) {
  const auto good = sign(R"({"alg":"HS256"})", R"({"sub":"a"})");
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(verify(good.substr(0, size), "sub", keys, rules, 1'000)) << size;
  }
  for (const auto& wrong :
       {good + ".", good + "=", "." + good, good + "\n", std::string("a.b.c.d.e"),
        std::string(".."), std::string(20'000, 'a')}) {
    EXPECT_FALSE(verify(wrong, "sub", keys, rules, 1'000));
  }
}

TEST(key_sets, leave_out_what_is_for_other_uses) {
  const auto keys = keys_of(std::string(curve_key) +
                            R"(,{"kty":"RSA","use":"enc","n":"AQ","e":"AQAB"},{"kty":"new"},)"
                            R"({"kty":"EC","crv":"secp256k1","x":"AQ","y":"AQ"},)"
                            R"({"kty":"oct","alg":"A128KW","k":"AQ"},)"
                            R"({"kty":"oct","key_ops":["encrypt"],"k":"AQ"})");
  EXPECT_EQ(keys.size(), 1U);
}

/// A key of 2048 bits.
std::string rsa_of(const std::string& exponent) {
  return R"({"kty":"RSA","n":"_)" + std::string(340, 'w') + R"(Q","e":")" + exponent + R"("})";
}

TEST(key_sets, an_exponent_of_three_is_enough) {
  EXPECT_TRUE(read_key_set(set_of(rsa_of("Aw")))) << "as some still have it";
}

TEST(key_sets, that_can_t_be_used_say_why) {
  struct wanted {
    std::string text;
    std::string_view fault;
  };
  const std::string weak(250, 'A');
  for (const auto& [text, fault] : {
           wanted{"", "is no JSON"},
           {"{", "is no JSON"},
           {R"({"keys":[],"keys":[]})", "has a member twice"},
           {std::string(R"({"keys":[]})") + '\0' + "x", "is no JSON"},
           {"[]", "an object with the array \"keys\""},
           {R"({"keys":7})", "an object with the array \"keys\""},
           {set_of(""), "has no key for signatures"},
           {set_of("7"), "key 1 is no object"},
           {set_of(R"({"kty":"oct","k":"c2hvcnQ"})"), "key 1 is a secret of fewer than 32 bytes"},
           {set_of(R"({"kty":"oct","k":"!"})"), "key 1 has no k"},
           {set_of(R"({"kty":"RSA","n":")" + weak + R"(","e":"AQAB"})"), "key 1 "},
           {set_of(R"({"kty":"RSA","e":"AQAB"})"), "key 1 has no n or e"},
           {set_of(rsa_of("AQ")), "key 1 has an e that is not odd, or is 1"},
           {set_of(rsa_of("AA")), "key 1 has an e that is not odd, or is 1"},
           {set_of(rsa_of("AQAA")), "key 1 has an e that is not odd, or is 1"},
           {set_of(R"({"kty":"EC","crv":"P-256","x":"AQ","y":"AQ"})"), "of the curve's length"},
           {set_of(R"({"kty":"EC","crv":"P-256","x":")" + std::string(43, 'A') + R"(","y":")" +
                   std::string(43, 'A') + R"("})"),
            "is no point of P-256"},
           {set_of(R"({"kty":"OKP","crv":"Ed25519","x":"AQ"})"), "is no key of Ed25519"},
       }) {
    const auto read = read_key_set(text);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().detail, HasSubstr(fault));
    EXPECT_THAT(read.error().detail, Not(HasSubstr("c2hvcnQ")));
  }
}

TEST_F(claims, a_number_is_somebody_else_than_the_text_of_its_digits) {
  EXPECT_EQ(answer_for(R"({"iss":"a","sub":"17"})"), "1:a17");
  EXPECT_EQ(answer_for(R"({"iss":"a","sub":17})"), "number 1:a17");
  EXPECT_EQ(answer_for(R"({"iss":"a","sub":17.5})"),
            "the token lacks the claim that the scope is made of");
}

TEST_F(claims, a_key_of_one_issuer_verifies_no_token_of_another) {
  keys = keys_of(R"({"kty":"oct","iss":"https://a","k":")" + base64url(secret) + R"("})");
  EXPECT_EQ(answer_for(R"({"iss":"https://a","sub":"ann"})"), "9:https://aann");
  EXPECT_EQ(answer_for(R"({"iss":"https://b","sub":"ann"})"),
            "the token names another issuer than its key");
  EXPECT_EQ(answer_for(R"({"sub":"ann"})"), "the token names another issuer than its key");
}

TEST_F(claims, few_keys_are_tried_for_a_token_that_does_not_name_its_own) {
  std::string others;
  for (std::size_t i = 0; i < tries_max; ++i) {
    others += R"({"kty":"oct","kid":"o","k":")" + base64url(std::string(32, 'x')) + R"("},)";
  }
  const auto own = R"({"kty":"oct","kid":"own","k":")" + base64url(secret) + R"("})";
  keys = keys_of(others.substr(others.find('{', 1)) + own);
  EXPECT_EQ(answer_for(R"({"sub":"ann"})"), "0:ann") << "the fourth";
  keys = keys_of(others + own);
  EXPECT_EQ(answer_for(R"({"sub":"ann"})"),
            "the token does not say which of many keys has signed it");
  EXPECT_EQ(answer_to(sign(R"({"alg":"HS256","kid":"own"})", R"({"sub":"ann"})")), "0:ann");
}

}  // namespace
}  // namespace onceguard::jwt
