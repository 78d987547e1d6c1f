// The presets of webhooks with the examples that senders publish, and with what an attacker makes
// of them.
#include <fstream>

#include <gtest/gtest.h>

#include "base/base64.hpp"
#include "base/field.hpp"
#include "config/webhook_options.hpp"
#include "support/temporary_folder.hpp"
#include "text/json_text.hpp"
#include "webhook/hmac.hpp"
#include "webhook/verifier.hpp"

namespace onceguard::config {
namespace {

using base::field;
using webhook::finding;
using webhook::verdict;

webhook::sender preset(std::string_view name) {
  remarks found;
  for (auto& one : read_senders({"presets"}, nullptr, true, found)) {
    if (one.name == name) return std::move(one);
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(presets_of_webhooks, fit_together) {
  remarks found;
  const auto all = read_senders({"presets"}, nullptr, true, found);
  EXPECT_EQ(all.size(), 8U);
  for (const auto& r : found) ADD_FAILURE() << r.text();
  for (const auto& one : all) {
    const bool unsigned_id = one.name == "github" || one.name == "shopify" || one.name == "paypal";
    EXPECT_EQ(signs_id(one), !unsigned_id) << one.name;
  }
}

// The examples of https://www.twilio.com/docs/usage/security and of the tests of Twilio's
// libraries.
struct twilio_example {
  std::string_view target = "/myapp.php?foo=1&bar=2";
  std::string_view body =
      "To=%2B18005551212&CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234"
      "&From=%2B14158675309";
  std::string signature = "RSOYDt4T1cUTdK1PDd93/VVr8B8=";
  std::vector<std::string> urls{"https://mycompany.com/myapp.php"};
  std::string secret = "12345";
  std::string token = "one";

  [[nodiscard]] finding check() const {
    const std::vector<field> fields{{"X-Twilio-Signature", signature},
                                    {"I-Twilio-Idempotency-Token", token}};
    webhook::registration agreed;
    agreed.secrets = {secret};
    agreed.urls = urls;
    agreed.path = "/myapp.php";
    return webhook::verifier(preset("twilio"), agreed).check({fields, body, 0, target});
  }
  [[nodiscard]] webhook::verdict verdict() const { return check().verdict; }
};

TEST(twilio, takes_the_published_examples) {
  twilio_example example;
  EXPECT_EQ(example.verdict(), verdict::genuine);
  example.body = "Sid=CA123&SidAccount=AC123&Digits=5678&Digits=1234&Digits=1234";
  example.signature = "IK+Dwps556ElfBT0I3Rgjkr1wJU=";
  EXPECT_EQ(example.verdict(), verdict::genuine);
  example.body = "MessagingBinding.Address=%2B1415xxxxxxx&MessagingBinding.Address=%2B1325xxxxxxx";
  example.signature = "83O6e2vORAoJHUNzJjDWN1jz+BA=";
  EXPECT_EQ(example.verdict(), verdict::genuine);
  example = {};
  example.target = "/myapp.php?foo=1&bar=2&Body=It%27s+amazing";
  example.signature = "TfZzewPq8wqrGlMfyAud8+/IvJ0=";
  EXPECT_EQ(example.verdict(), verdict::genuine);
}

TEST(twilio, takes_a_json_body_of_which_the_url_has_the_hash) {
  twilio_example example;
  example.target =
      "/myapp.php?foo=1&bar=2&bodySHA256="
      "0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620";
  example.body = R"({"property": "value", "boolean": true})";
  example.signature = "a9nBmqA0ju/hNViExpshrM61xv4=";
  EXPECT_EQ(example.verdict(), verdict::genuine);
  for (const std::string_view other :
       {R"({"property": "other", "boolean": true})", "", "a=1", R"({"property": "value"})"}) {
    example.body = other;
    EXPECT_EQ(example.verdict(), verdict::forged) << other;
  }
  example = {};
  example.target =
      "/myapp.php?foo=1&bar=2&bodySHA256="
      "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
  example.body = "{}";
  example.urls = {"https://mycompany.com:443/myapp.php"};
  example.signature = "Ldidvp12m26NI7eqEvxnEpkd9Hc=";
  EXPECT_EQ(example.verdict(), verdict::genuine);
}

TEST(twilio, takes_each_of_the_urls_and_makes_one_id) {
  twilio_example example;
  const auto first = example.check();
  example.urls.push_back("https://mycompany.com:443/myapp.php");
  example.signature = "kvajT1Ptam85bY51eRf/AJRuM3w=";
  const auto second = example.check();
  EXPECT_EQ(second.verdict, verdict::genuine);
  EXPECT_EQ(second.id, first.id);
  example.urls.pop_back();
  EXPECT_EQ(example.verdict(), verdict::forged);
}

TEST(twilio, refuses_what_differs) {
  const auto differing = [](auto change) {
    twilio_example example;
    change(example);
    return example.verdict();
  };
  EXPECT_EQ(differing([](auto& e) { e.secret = "12346"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.signature = ""; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.signature = "RSOYDt4T1cUTdK1PDd93/VVr8B8"; }),
            verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.signature = "!"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.target = "/myapp.php?foo=1"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.target = "/myapp.php"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.target = "/other?foo=1&bar=2"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.target = "/%6dyapp.php?foo=1&bar=2"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.target = "/myapp.php?foo=%zz"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.urls = {"https://other.com/myapp.php"}; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.urls.clear(); }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.body = "Digits=1234"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.body = "Digits=%"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.body = ""; }), verdict::forged);
}

// Nothing stands between the values that are signed, so they can be moved without the secret.
TEST(twilio, gives_what_was_moved_about_the_same_id) {
  twilio_example example;
  const auto genuine = example.check();
  EXPECT_EQ(genuine.id.size(), 64U);
  example.token = "another";
  example.body =
      "CallSidCA1234567890ABCDE=&CallerHim=&Caller=%2B14158675309Digits1234From%2B14158675309"
      "To%2B18005551212";
  EXPECT_EQ(example.verdict(), verdict::forged);
  example.body =
      "CallSid=CA1234567890ABCDECaller%2B14158675309Digits1234From%2B14158675309To%2B18005551212";
  const auto moved = example.check();
  EXPECT_EQ(moved.verdict, verdict::genuine);
  EXPECT_EQ(moved.id, genuine.id);
}

// The example of https://docs.adyen.com/development-resources/webhooks/verify-hmac-signatures
struct adyen_example {
  std::string psp_reference = R"("7914073381342284")";
  std::string original_reference = R"("")";
  std::string account = R"("TestMerchant")";
  std::string reference = R"("TestPayment-1407325143704")";
  std::string value = "1130";
  std::string currency = R"("EUR")";
  std::string event = R"("AUTHORISATION")";
  std::string success = R"("true")";
  std::string signature = "coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0=";
  std::string secret = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056";

  [[nodiscard]] std::string item() const {
    return R"({"NotificationRequestItem":{"additionalData":{"hmacSignature":")" + signature +
           R"("},"amount":{"currency":)" + currency + R"(,"value":)" + value + R"(},"eventCode":)" +
           event + R"(,"merchantAccountCode":)" + account + R"(,"merchantReference":)" + reference +
           R"(,"originalReference":)" + original_reference + R"(,"pspReference":)" + psp_reference +
           R"(,"reason":"","success":)" + success + "}}";
  }
  [[nodiscard]] std::string body() const {
    return R"({"live":"false","notificationItems":[)" + item() + "]}";
  }
  [[nodiscard]] finding check_body(const std::string& text) const {
    webhook::registration agreed;
    agreed.secrets = {*webhook::decode_secret(secret, webhook::secret_form::hex)};
    return webhook::verifier(preset("adyen"), agreed).check({{}, text, 0, "/hooks"});
  }
  [[nodiscard]] finding check() const { return check_body(body()); }
  [[nodiscard]] webhook::verdict verdict() const { return check().verdict; }

  /// Signs as Adyen does: values joined with colons, which are not escaped.
  void sign(const std::string& text) {
    const auto key = webhook::decode_secret(secret, webhook::secret_form::hex);
    signature = base::to_base64(webhook::hmac_of(webhook::hmac_hash::sha256, *key, text));
  }
};

TEST(adyen, takes_the_published_example) {
  const auto found = adyen_example().check();
  EXPECT_EQ(found.verdict, verdict::genuine);
  EXPECT_EQ(found.id, "7914073381342284:TestMerchant:AUTHORISATION:true");
}

TEST(adyen, takes_absent_and_null_values_for_empty_ones) {
  adyen_example example;
  example.original_reference = "null";
  EXPECT_EQ(example.verdict(), verdict::genuine);
  auto text = adyen_example().body();
  const std::string member = R"("originalReference":"",)";
  text.erase(text.find(member), member.size());
  EXPECT_EQ(example.check_body(text).verdict, verdict::genuine);
}

TEST(adyen, refuses_what_differs) {
  const auto differing = [](auto change) {
    adyen_example example;
    change(example);
    return example.verdict();
  };
  EXPECT_EQ(differing([](auto& e) { e.psp_reference = R"("7914073381342285")"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.value = "1131"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.value = "1130.0"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.value = "[1130]"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.success = R"("false")"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.secret.back() = '7'; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.signature = ""; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.signature = "coqCmt"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.signature.pop_back(); }), verdict::forged);
}

TEST(adyen, refuses_a_second_item_that_nobody_checked) {
  const adyen_example example;
  const auto items = [&](const std::string& list) {
    return example.check_body(R"({"live":"false","notificationItems":)" + list + "}").verdict;
  };
  EXPECT_EQ(items("[" + example.item() + "]"), verdict::genuine);
  EXPECT_EQ(items("[" + example.item() + "," + example.item() + "]"), verdict::forged);
  EXPECT_EQ(items("[" + example.item() + ",{}]"), verdict::forged);
  EXPECT_EQ(items(R"({"0":)" + example.item() + R"(,"x":{}})"), verdict::forged);
  EXPECT_EQ(items("[" + example.item() + R"(],"notificationItems":[{}])"), verdict::forged);
  EXPECT_EQ(items("[]"), verdict::forged);
  EXPECT_EQ(items("["), verdict::forged);
  EXPECT_EQ(example.check_body("").verdict, verdict::forged);
}

// With a colon in the merchant's reference, other values could be cut out of the same text.
TEST(adyen, takes_colons_in_the_reference_of_the_merchant_alone) {
  adyen_example example;
  example.reference = R"("order:77:1")";
  example.sign("7914073381342284::TestMerchant:order:77:1:1130:EUR:AUTHORISATION:true");
  EXPECT_EQ(example.verdict(), verdict::genuine);
  auto moved = example;  // to the left
  moved.psp_reference = R"("7914073381342284:")";
  moved.original_reference = R"("TestMerchant")";
  moved.account = R"("order")";
  moved.reference = R"("77:1")";
  EXPECT_EQ(moved.verdict(), verdict::forged);
  moved = example;  // to the right
  moved.reference = R"("order")";
  moved.value = "77";
  moved.currency = R"("1:1130:EUR")";
  EXPECT_EQ(moved.verdict(), verdict::forged);
  moved = example;
  moved.account = R"("TestMerchant:order")";
  moved.reference = R"("77:1")";
  EXPECT_EQ(moved.verdict(), verdict::forged);
}

// Made with openssl, as PayPal publishes no delivery with its certificate.
constexpr std::string_view paypal_body =
    R"({"id":"WH-9UG43882HX7271132-6E0871324L7949614","event_type":"PAYMENT.SALE.COMPLETED",)"
    R"("resource":{"id":"80F85758S3080410K","amount":{"total":"21.00","currency":"USD"}}})";
constexpr std::string_view paypal_key =
    "-----BEGIN PUBLIC KEY-----\n"
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAoglf8Y7k1HsoTkMeVPOa\n"
    "TKYoXKj6B4Hh5GTzEj2MKcoZxd13cDSoxRt4VRb5NCar+10Y4+3YQhqFmV2QtnOm\n"
    "JREMnKzQ21GvgelJOcQ7eikDu30v6BVCjigm1swGWvztZPq258yEu8G3lkcq407p\n"
    "tzKf/XSL9Y1ymUxeq7uUqCsldrG5NCz+nZKvOjQxp9qW/Y2wE6VXspf/4av9SdBa\n"
    "fYCS2AXATrJiQ3ru24wM21d3LUXUVnT+RT2beOSyqIo/XrmnlGNs+0fjdPNmdVW2\n"
    "x/5n/tG64K1g1O7Tr2yQvyqfWSdwOJZbJlk/VfARlnLGUkJk4PmxQQjduaxCoh+E\n"
    "EwIDAQAB\n"
    "-----END PUBLIC KEY-----\n";
constexpr std::string_view paypal_signature =
    "CKdb7nBZ7x7/fW7Psv6Odn1lhOd5tiBvX3lzb1dA4+9LYDDKIh4mtpdrdv3tiIiISPg1fxW+cOvLXLB+Hz/AQZ"
    "FkF+f5Yh/Asm3OrYq4IGhqd/8NidwRs8+bql72SC4wL4xvtZLWiLmz9JWNEZCMd+UOqmaR7VAbco5dplVduMko"
    "OxiP1n+6fC5QMxrtesc+jWcZlK+HfieqK3btpt20sEN/ipQ9E23Yf0X3czjRSzGENmWCE+ymbjMyD3VYLmGY/I"
    "Ug758AoGCJRwrxOpQIrtqh2YJF+MV445quD+0kOHppJnRlIzJ8PqfkzN1G5b5Ylq1RWuAGVQu/GLYO3Uc3gw==";
constexpr std::int64_t paypal_time = 1474495246;

struct paypal_example {
  std::string transmission = "d938e770-8046-11e6-8103-6b62a8a99ac4";
  std::string time = "2016-09-21T22:00:46Z";
  std::string signature{paypal_signature};
  std::string body{paypal_body};
  std::string webhook_id = "9XL90610J3647323C";
  std::int64_t now = paypal_time;

  [[nodiscard]] finding check() const {
    const onceguard::testing::temporary_folder folder;
    std::ofstream(folder.file("key")) << paypal_key;
    const std::vector<field> fields{{"PAYPAL-TRANSMISSION-ID", transmission},
                                    {"PAYPAL-TRANSMISSION-TIME", time},
                                    {"PAYPAL-TRANSMISSION-SIG", signature},
                                    {"PAYPAL-CERT-URL", "https://attacker.example/certificate"},
                                    {"PAYPAL-AUTH-ALGO", "none"}};
    webhook::registration agreed;
    agreed.keys = *webhook::read_public_keys(folder.file("key"));
    agreed.webhook_id = webhook_id;
    return webhook::verifier(preset("paypal"), agreed).check({fields, body, now, "/hooks"});
  }
  [[nodiscard]] webhook::verdict verdict() const { return check().verdict; }
};

TEST(paypal, takes_what_the_pinned_key_signed) {
  const auto found = paypal_example().check();
  EXPECT_EQ(found.verdict, verdict::genuine);
  EXPECT_EQ(found.id, "WH-9UG43882HX7271132-6E0871324L7949614");
}

TEST(paypal, takes_three_days_of_retries_and_an_hour) {
  paypal_example example;
  constexpr std::int64_t tolerance = 73 * 3600;
  for (const auto apart : {-tolerance - 1, -tolerance, tolerance, tolerance + 1}) {
    example.now = paypal_time + apart;
    const bool within = std::abs(apart) == tolerance;
    EXPECT_EQ(example.verdict(), within ? verdict::genuine : verdict::expired) << apart;
  }
}

TEST(paypal, refuses_what_differs) {
  const auto differing = [](auto change) {
    paypal_example example;
    change(example);
    return example.verdict();
  };
  EXPECT_EQ(differing([](auto& e) { e.transmission = "other"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.time = "2016-09-21T22:00:47Z"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.webhook_id = "9XL90610J3647323D"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.body.replace(e.body.find("21.00"), 5, "99.00"); }),
            verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.signature[9] = 'A'; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.signature = ""; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.signature = "AAAA"; }), verdict::forged);
  EXPECT_EQ(differing([](auto& e) { e.signature += "!"; }), verdict::forged);
}

}  // namespace
}  // namespace onceguard::config
