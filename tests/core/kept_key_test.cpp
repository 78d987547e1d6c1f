// What keys are kept as: docs/encryption.md says how it is made, and these vectors are made by
// another program.
#include "core/kept_key.hpp"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <onceguard/fingerprint.hpp>
#include <onceguard/key.hpp>

#include "base/hex.hpp"
#include "core/request.hpp"

namespace onceguard::core {
namespace {

const std::string secret = "0123456789abcdef0123456789abcdef";
const std::string kept_order = "hmac-EnGitGtbmjNKaE9K5bhjE-7wB4PS8-9JxuNld8-pfMQ";

class kept_key_test : public ::testing::Test {
 protected:
  ~kept_key_test() override { keep_keys_with(nullptr); }
};

TEST_F(kept_key_test, is_an_hmac_in_the_form_of_a_key) {
  const key_pepper pepper(secret);
  EXPECT_EQ(pepper.kept("order-17"), kept_order);
  EXPECT_EQ(pepper.kept("kim@example.org"), "hmac-Ovtq0XYRbHPoW3AKfKRAsQJumia3Pq8qk3fFFOy2Frc");
  EXPECT_EQ(base::to_hex(pepper.mark()),
            "735e600b0a2ac2ad372c44939092a6c1be8317d321f58e0788ab7561f59602b5");
  EXPECT_EQ(parse_key(kept_order).value(), kept_order);
}

TEST_F(kept_key_test, without_a_pepper_is_the_key) {
  EXPECT_EQ(kept_key("order-17"), "order-17");
  EXPECT_EQ(key_to_find(kept_order), kept_order);
}

TEST_F(kept_key_test, a_callers_key_is_never_taken_for_a_kept_form) {
  keep_keys_with(std::make_unique<key_pepper>(secret));
  EXPECT_EQ(kept_key("order-17"), kept_order);
  EXPECT_NE(kept_key(kept_order), kept_order) << "a caller would get the answer of order-17";
}

TEST_F(kept_key_test, an_operator_may_give_either) {
  keep_keys_with(std::make_unique<key_pepper>(secret));
  EXPECT_EQ(key_to_find("order-17"), kept_order);
  EXPECT_EQ(key_to_find(kept_order), kept_order);
  for (const std::string other : {"hmac-short", "mac--EnGitGtbmjNKaE9K5bhjE-7wB4PS8-9JxuNld8-pfMQ",
                                  "hmac-EnGitGtbmjNKaE9K5bhjE-7wB4PS8+9JxuNld8-pfMQ"}) {
    EXPECT_FALSE(is_kept_form(other)) << other;
    EXPECT_NE(key_to_find(other), other);
  }
}

TEST_F(kept_key_test, requests_to_the_library_are_known_by_it) {
  const request wanted("acme", "order-17", "body");
  const auto clear = digests_of(wanted).id;
  keep_keys_with(std::make_unique<key_pepper>(secret));
  const auto digests = digests_of(wanted);
  const auto about = subject_of(wanted, digests);
  EXPECT_EQ(about->key, kept_order);
  EXPECT_EQ(digests.id, make_record_id(about->scope, kept_order));
  EXPECT_NE(digests.id, clear) << "a digest without the pepper can be guessed";
}

}  // namespace
}  // namespace onceguard::core
