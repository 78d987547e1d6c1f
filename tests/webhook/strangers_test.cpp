// What a delivery costs before anybody is known to have signed it.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/field.hpp"
#include "webhook/delivery.hpp"
#include "webhook/hmac.hpp"
#include "webhook/verifier.hpp"

namespace onceguard::webhook {
namespace {

std::string repeated(std::string_view one, std::size_t times) {
  std::string out;
  out.reserve(one.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += one;
  return out;
}

/// A list of so many values and a signature, which is good if it is the text that is signed.
std::string signed_in_body(const std::string& signature, std::size_t values) {
  return R"({"id":"a","signature":")" + signature + R"(","more":[)" + repeated("{},", values) +
         "0]}";
}

sender with_signature_in_body() {
  sender out;
  out.name = "own";
  out.id = {*parse_id("json:/id")};
  out.signature = *parse_source("json:/signature");
  out.content = *parse_pattern("{json:/id}");
  return out;
}

verdict check(const sender& about, std::string_view body, std::vector<base::field> fields = {},
              std::string_view target = "/") {
  return verifier(about, {.secrets = {"s"}, .urls = {"https://a.example"}})
      .check({fields, body, 0, target})
      .verdict;
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

TEST(strangers, can_not_make_a_body_with_the_signature_in_it_take_long) {
  const auto about = with_signature_in_body();
  const auto good = hex(hmac_of(hmac_hash::sha256, "s", "a"));
  EXPECT_EQ(check(about, signed_in_body(good, 1'000)), verdict::genuine);
  // Where the end of each value costs as much as all before it, this takes hours.
  EXPECT_EQ(check(about, signed_in_body("00", 3'000'000)), verdict::forged);
}

TEST(strangers, get_no_more_values_read_than_a_sender_sends) {
  const auto about = with_signature_in_body();
  const auto good = hex(hmac_of(hmac_hash::sha256, "s", "a"));
  EXPECT_EQ(check(about, signed_in_body(good, unsigned_values_max - 5)), verdict::genuine);
  EXPECT_EQ(check(about, signed_in_body(good, unsigned_values_max)), verdict::forged);
}

TEST(strangers, get_no_more_fields_of_a_form_read_than_a_sender_sends) {
  sender about;
  about.name = "own";
  about.id = {*parse_id("signed-hash")};
  about.signature = *parse_source("header:S");
  about.content = *parse_pattern("{url}{form}");
  const auto verdict_of = [&](std::size_t fields) {
    const auto signature = hex(hmac_of(hmac_hash::sha256, "s", "https://a.example/a"));
    return check(about, repeated("a&", fields), {{"S", signature}});
  };
  EXPECT_EQ(verdict_of(unsigned_fields_max), verdict::genuine);
  EXPECT_EQ(verdict_of(unsigned_fields_max + 1), verdict::forged);
}

TEST(strangers, are_refused_before_a_body_is_read_that_is_signed_as_a_whole) {
  sender about;
  about.name = "own";
  about.id = {*parse_id("json:/id")};
  about.signature = *parse_source("header:S");
  about.absent = {"/more"};
  const auto body = R"({"id":"a","list":[)" + repeated("{},", unsigned_values_max) + "0]}";
  // One with a good signature may be as long as it likes.
  const auto good = hex(hmac_of(hmac_hash::sha256, "s", body));
  EXPECT_EQ(check(about, body, {{"S", good}}), verdict::genuine);
  EXPECT_EQ(check(about, body, {{"S", "00"}}), verdict::forged);
}

}  // namespace
}  // namespace onceguard::webhook
