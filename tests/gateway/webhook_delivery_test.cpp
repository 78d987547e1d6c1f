// Which key, and in which scope, a signed delivery has.
#include "gateway/webhook_delivery.hpp"

#include <gtest/gtest.h>

#include "base/field.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "webhook/hmac.hpp"
#include "webhook/verifier.hpp"

namespace onceguard::gateway {
namespace {

class delivery_test : public ::testing::Test {
 protected:
  static constexpr std::string_view secret = "a secret";
  static constexpr std::string_view body = "{}";

  struct admitted_delivery {
    delivery_admission admission;
    http::admission key;
  };

  /// What becomes of a delivery with this id, which its sender has signed.
  static admitted_delivery deliver(std::string_view id, std::string route_name = "/hooks") {
    webhook::sender own;
    own.name = "own";
    own.id = {*webhook::parse_id("header:X-Id")};
    own.signature = *webhook::parse_source("header:X-Signature");
    route rule;
    rule.name = std::move(route_name);
    rule.rule.webhook = std::make_shared<const webhook::verifier>(
        std::move(own), webhook::registration{.secrets = {std::string(secret)}});
    const auto mark = webhook::hmac_of(webhook::hmac_hash::sha256, secret, body);
    const auto text =
        base::to_hex({reinterpret_cast<const unsigned char*>(mark.data()), mark.size()});
    const std::vector<base::field> fields{{"X-Id", id}, {"X-Signature", text}};
    http1::head head;
    head.method = "POST";
    head.target = "/hooks";
    head.fields = fields;
    admitted_delivery out;
    out.admission = admit_delivery(rule, head, body, out.key);
    return out;
  }
};

TEST_F(delivery_test, id_is_the_key_as_it_is) {
  for (const auto* id : {"evt_1", "a;b=c", "a, b", "W/x"}) {
    const auto found = deliver(id);
    EXPECT_FALSE(found.admission.refusal) << id;
    EXPECT_EQ(found.key.key, id);
    EXPECT_EQ(found.key.scope_kind, "webhook:own");
  }
}

// The key is made by the rules of the header, in which a quote ends it: two ids
// with the same beginning would be one key, and the second delivery would be
// lost.
TEST_F(delivery_test, id_that_would_be_another_key_is_refused) {
  for (const auto* id : {"a\";p=\"b", "a\"", "\"a", "a\\b", "a\\\"b", "\xc3\xa4"}) {
    const auto found = deliver(id);
    ASSERT_TRUE(found.admission.refusal) << id;
    EXPECT_EQ(found.admission.refusal->problem, http::problem::key_malformed) << id;
  }
}

TEST_F(delivery_test, same_id_on_another_route_is_another_operation) {
  EXPECT_EQ(deliver("a").key.scope, deliver("b").key.scope);
  EXPECT_NE(deliver("a", "/one").key.scope, deliver("a", "/two").key.scope);
}

}  // namespace
}  // namespace onceguard::gateway
