#include "webhook/sender.hpp"

#include <functional>

#include <gtest/gtest.h>

namespace onceguard::webhook {
namespace {

sender plain() {
  sender out;
  out.name = "own";
  out.id = {*parse_id("header:X-Id")};
  out.signature = *parse_source("header:X-Signature");
  return out;
}

std::string complaint_after(const std::function<void(sender&)>& change) {
  auto made = plain();
  change(made);
  return complaint(made);
}

void sign(sender& made, std::string_view text) { made.content = *parse_pattern(text); }

TEST(sender, may_be_plain) { EXPECT_EQ(complaint(plain()), ""); }

TEST(sender, needs_an_id_and_a_signature) {
  EXPECT_EQ(complaint_after([](sender& s) { s.id.clear(); }), "id: missing");
  EXPECT_EQ(complaint_after([](sender& s) { s.id = {*parse_id("signature:id")}; }),
            "id: can't be in the text of the signature");
  EXPECT_EQ(complaint_after([](sender& s) { s.signature.reset(); }), "signature: missing");
  EXPECT_EQ(complaint_after([](sender& s) { s.signature = *parse_source("form:a"); }),
            "signature: expected \"header:NAME\" or \"json:/POINTER\"");
}

TEST(sender, signs_something_of_the_body) {
  constexpr auto* nothing = "signed: has nothing of the body, so anybody can change it";
  EXPECT_EQ(complaint_after([](sender& s) { sign(s, "fixed"); }), nothing);
  EXPECT_EQ(complaint_after([](sender& s) { sign(s, "{url}{header:A}{query:b}"); }), nothing);
  for (const auto* text : {"{body}", "{form}", "{crc32}", "{json:/a}", "{form:a}"}) {
    EXPECT_EQ(complaint_after([&](sender& s) { sign(s, text); }), "") << text;
  }
}

TEST(sender, needs_what_its_signed_text_names) {
  EXPECT_EQ(complaint_after([](sender& s) { sign(s, "{timestamp}{body}"); }),
            "signed: {timestamp} needs timestamp");
  const auto with_json_id = [](sender& s) {
    s.id = {*parse_id("json:/id")};
    sign(s, "{id}.{body}");
  };
  EXPECT_EQ(complaint_after(with_json_id), "signed: {id} needs an id in a header");
  EXPECT_EQ(complaint_after([](sender& s) { sign(s, "{signed-hash}{body}"); }),
            "signed: {signed-hash} can't be a part of what it is made of");
  EXPECT_EQ(complaint_after([](sender& s) { sign(s, "{*json:/a}:{*json:/b}"); }),
            "signed: only one value can have a star, or its end would not be known");
}

TEST(sender, has_a_timestamp_that_is_signed) {
  EXPECT_EQ(complaint_after([](sender& s) { s.tolerance_seconds = 1; }),
            "tolerance: needs timestamp");
  EXPECT_EQ(complaint_after([](sender& s) { s.timestamp = *parse_source("header:T"); }),
            "timestamp: is not in signed, so anybody can change it");
  const auto in_json = [](sender& s) {
    s.timestamp = *parse_source("json:/t");
    sign(s, "{timestamp}{body}");
  };
  EXPECT_EQ(complaint_after(in_json), "timestamp: expected \"header:NAME\" or \"signature:NAME\"");
}

TEST(sender, has_a_hash_of_the_body_that_is_signed) {
  const auto hashing = [](std::string_view position, std::string_view text) {
    return complaint_after([&](sender& s) {
      s.body_hash = *parse_source(position);
      sign(s, text);
    });
  };
  EXPECT_EQ(hashing("query:h", "{url}"), "");
  EXPECT_EQ(hashing("query:h", "{query:h}"), "");
  EXPECT_EQ(hashing("header:Digest", "{header:digest}"), "");
  EXPECT_EQ(hashing("header:Digest", "{url}{form}"),
            "body_hash: is not in signed, so anybody can change it");
  EXPECT_EQ(hashing("query:h", "{body}"), "body_hash: is not in signed, so anybody can change it");
  EXPECT_EQ(hashing("json:/h", "{body}"), "body_hash: expected \"header:NAME\" or \"query:NAME\"");
}

TEST(sender, has_keys_for_its_algorithm) {
  EXPECT_EQ(complaint_after([](sender& s) { s.secret = secret_form::pem; }),
            "secret: \"pem\" needs algorithm = \"rsa-sha256\"");
  EXPECT_EQ(complaint_after([](sender& s) { s.algorithm = signature_algorithm::rsa_sha256; }),
            "algorithm: \"rsa-sha256\" needs secret = \"pem\"");
}

struct coverage {
  std::string_view id;
  std::string_view text;
  bool is_signed;
};

TEST(sender, signs_an_id_only_where_nobody_can_change_it) {
  constexpr coverage cases[]{
      {"header:X-Id", "{body}", false},
      {"header:X-Id", "{id}.{body}", true},
      {"header:X-Id", "{header:x-id}.{body}", true},
      {"json:/id", "{body}", true},
      {"json:/id", "{json:/id}:{json:/b}", true},
      {"json:/id", "{json:/a}:{json:/b}", false},
      {"json:/id", "{crc32}", false},
      {"{json:/a}:{json:/b}", "{json:/a}:{json:/c}", false},
      {"form:id", "{body}", true},
      {"form:id", "{form}", false},  // its end could be moved
      {"form:id", "{form:id}", true},
      {"query:id", "{body}", false},
      {"query:id", "{url}{form}", true},
      {"signed-hash", "{url}{form}", true},
  };
  for (const auto& one : cases) {
    auto made = plain();
    made.id = {*parse_id(one.id)};
    sign(made, one.text);
    EXPECT_EQ(signs_id(made), one.is_signed) << one.id << " in " << one.text;
  }
}

TEST(sender, signs_ids_in_a_body_of_which_the_hash_is_signed) {
  auto made = plain();
  made.id = {*parse_id("json:/id")};
  made.body_hash = *parse_source("query:h");
  sign(made, "{url}");
  EXPECT_TRUE(signs_id(made));
  sign(made, "{url}{form}");  // without the hash, the body is a form
  EXPECT_FALSE(signs_id(made));
}

}  // namespace
}  // namespace onceguard::webhook
