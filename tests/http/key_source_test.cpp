// Where a request's key is: header fields, the path, the content.
#include <vector>

#include <gtest/gtest.h>

#include "http/admission.hpp"
#include "http/forwarding.hpp"
#include "http/operation.hpp"

namespace onceguard::http {
namespace {

route_policy policy_of(std::vector<key_source> sources) {
  route_policy out;
  out.methods = {"PUT", "POST"};
  out.key = std::move(sources);
  return out;
}

key_source header(std::string name) {
  key_source out;
  out.header = std::move(name);
  return out;
}
key_source segment(std::size_t number) {
  key_source out;
  out.location = key_location::path;
  out.segment = number;
  return out;
}
key_source content() {
  key_source out;
  out.location = key_location::content;
  return out;
}

admission ask(const route_policy& policy, std::string_view target,
              const std::vector<field>& sent = {}) {
  return admit(policy, {"PUT", target, sent, {}});
}

TEST(key_source, has_a_text) {
  EXPECT_EQ(key_source{}.text(), "Idempotency-Key");
  EXPECT_EQ(segment(2).text(), "path:2");
  EXPECT_EQ(content().text(), "content");
}

TEST(key_of_path, is_a_segment_as_it_is_written) {
  struct wanted {
    std::string_view target;
    std::string_view key;
  };
  constexpr wanted table[] = {
      {"/things/17", "17"},
      {"/things/17?dry=1", "17"},
      {"/things/17/", "17"},
      {"/things/17/parts/3", "17"},
      {"http://shop.test/things/17", "17"},
      {"/things/a-b_c.d~e", "a-b_c.d~e"},
      {"/things/a:b@c!d$e'(f)*g+h,i=j&k", "a:b@c!d$e'(f)*g+h,i=j&k"},
      {"/things/%31%37", "17"},        // the same segment after RFC 3986, 6.2.2.2
      {"/x/../things/./17", "17"},     // and 6.2.2.3
      {"/things/17/%2Fx%20y;z", "17"}  // what follows the key does not matter
  };
  for (const auto& one : table) {
    const auto found = ask(policy_of({segment(2)}), one.target);
    ASSERT_EQ(found.kind, admission_kind::guard) << one.target << found.detail;
    EXPECT_EQ(found.key, one.key) << one.target;
  }
  EXPECT_EQ(ask(policy_of({segment(1)}), "/things/17").key, "things");
  EXPECT_EQ(ask(policy_of({segment(4)}), "/a/b/c/d").key, "d");
}

TEST(key_of_path, is_refused_if_a_service_could_read_another_one) {
  for (const auto* target : {"/things/a%3Ab", "/things/a%20b", "/things/17;v=2", "/things/a%2Fb",
                             "/things/17%00", "/things/a%5Cb", "/things/%C3%A4", "/th%20ings/17",
                             "/things;x/17", "//things/17", "/things/a\"b", "/things/a%"}) {
    const auto found = ask(policy_of({segment(2)}), target);
    EXPECT_EQ(found.kind, admission_kind::refuse) << target;
    EXPECT_EQ(found.refusal, problem::key_malformed) << target;
  }
  EXPECT_EQ(ask(policy_of({segment(2)}), "/things/a%20b").detail,
            "Segment 2 of the path, the key, must be plain: without escapes, parameters and "
            "backslashes.");
}

TEST(key_of_path, has_the_length_and_format_of_a_key) {
  const auto longest = "/things/" + std::string(255, 'x');
  EXPECT_EQ(ask(policy_of({segment(2)}), longest).key.size(), 255u);
  EXPECT_EQ(ask(policy_of({segment(2)}), longest + 'x').detail,
            "Segment 2 of the path, the key, is longer than 255 bytes.");
  auto policy = policy_of({segment(2)});
  policy.key_format = key_format::uuid;
  EXPECT_EQ(ask(policy, "/things/17").detail, "Segment 2 of the path, the key, must be a UUID.");
  EXPECT_EQ(ask(policy, "/things/0199f3a8-0000-7000-8000-000000000001").kind,
            admission_kind::guard);
}

TEST(key_of_path, that_is_not_there_is_missing) {
  for (const auto* target : {"/things", "/things/", "/", "/things?x=/17"}) {
    auto policy = policy_of({segment(2)});
    EXPECT_EQ(ask(policy, target).kind, admission_kind::pass) << target;
    policy.required = true;
    const auto found = ask(policy, target);
    EXPECT_EQ(found.refusal, problem::key_missing) << target;
    EXPECT_EQ(found.detail, "This route takes the key from segment 2 of the path.");
  }
}

TEST(key_sources, are_tried_in_their_order) {
  const std::vector<field> both{{"X-Request-Id", "of-header"}};
  EXPECT_EQ(ask(policy_of({header("X-Request-Id"), segment(2)}), "/things/17", both).key,
            "of-header");
  EXPECT_EQ(ask(policy_of({header("X-Request-Id"), segment(2)}), "/things/17").key, "17");
  EXPECT_EQ(ask(policy_of({segment(2), header("X-Request-Id")}), "/things/17", both).key, "17");
  EXPECT_EQ(ask(policy_of({segment(2), header("X-Request-Id")}), "/things", both).key, "of-header");
  // A source that is there and wrong is not passed over.
  EXPECT_EQ(
      ask(policy_of({header("X-Request-Id"), segment(2)}), "/things/17", {{"X-Request-Id", "\""}})
          .refusal,
      problem::key_malformed);
  auto policy = policy_of({header("X-Request-Id"), segment(2)});
  policy.required = true;
  EXPECT_EQ(ask(policy, "/things").detail,
            "This route takes the key from the header X-Request-Id, else from segment 2 of the "
            "path.");
}

TEST(key_of_another_header, is_read_as_a_key) {
  const auto policy = policy_of({header("X-Request-Id")});
  EXPECT_EQ(ask(policy, "/", {{"x-request-id", "\"a\";p"}}).key, "a");
  EXPECT_EQ(ask(policy, "/", {{"Idempotency-Key", "a"}}).kind, admission_kind::pass);
  EXPECT_EQ(ask(policy, "/", {{"X-Request-Id", "a"}, {"X-Request-Id", "a"}}).detail,
            "There is more than one X-Request-Id header.");
  EXPECT_EQ(ask(policy, "/", {{"X_Request_Id", "a"}}).detail,
            "The key's header is called X-Request-Id, with a hyphen.");
}

TEST(key_of_another_header, reaches_the_service) {
  const auto policy = policy_of({header("X-Request-Id")});
  const std::vector<field> sent{{"Connection", "X-Request-Id"}, {"X-Request-Id", "a"}};
  const travel_filter filter(sent, policy);
  EXPECT_TRUE(filter.travels("X-Request-Id"));
  EXPECT_FALSE(filter.travels("X_Request_Id")) << "another spelling, which services may prefer";
}

TEST(key_of_content, follows_from_what_makes_requests_the_same) {
  const auto policy = policy_of({content()});
  const auto key_of = [&](std::string_view target, std::string_view body) {
    const request sent{"PUT", target, {}, {}, body};
    auto admitted = admit(policy, sent);
    EXPECT_EQ(admitted.kind, admission_kind::guard);
    EXPECT_EQ(admitted.key, "");
    complete_key(admitted, policy, make_input(sent, "service", admitted));
    return admitted.key;
  };
  const auto key = key_of("/things", "twenty");
  EXPECT_EQ(key.size(), std::string_view("content-").size() + 64);
  EXPECT_EQ(key_of("/things", "twenty"), key);
  EXPECT_NE(key_of("/things", "thirty"), key);
  EXPECT_NE(key_of("/others", "twenty"), key);
}

TEST(key_of_content, leaves_other_keys_alone) {
  const auto policy = policy_of({header("Idempotency-Key"), content()});
  const std::vector<field> sent{{"Idempotency-Key", "k"}};
  auto admitted = ask(policy, "/", sent);
  complete_key(admitted, policy, {});
  EXPECT_EQ(admitted.key, "k");
}

}  // namespace
}  // namespace onceguard::http
