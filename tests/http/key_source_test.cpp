// Where a request's key is: header fields, the path, the content.
#include <vector>

#include <gtest/gtest.h>

#include "http/admission.hpp"
#include "http/forwarded_fields.hpp"
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

key_source in_body(std::string pointer) {
  key_source out;
  out.location = key_location::json;
  out.pointer = std::move(pointer);
  return out;
}

TEST(key_source, has_a_text) {
  EXPECT_EQ(in_body("/event/id").text(), "json:/event/id");
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

TEST(key_sources, that_a_request_has_agree) {
  const std::vector<field> other{{"X-Request-Id", "of-header"}};
  const std::vector<field> same{{"X-Request-Id", "17"}};
  const auto both = policy_of({header("X-Request-Id"), segment(2)});
  const auto turned = policy_of({segment(2), header("X-Request-Id")});
  for (const auto& policy : {both, turned}) {
    EXPECT_EQ(ask(policy, "/things/17").key, "17");
    EXPECT_EQ(ask(policy, "/things/17", same).key, "17");
    EXPECT_EQ(ask(policy, "/things", other).key, "of-header");
    EXPECT_EQ(ask(policy, "/things/17", other).refusal, problem::key_malformed);
  }
  EXPECT_EQ(ask(both, "/things/17", other).detail,
            "The request has two keys that differ: another one is segment 2 of the path.");
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
    complete_key(admitted, policy, make_input(sent, policy, "service", admitted));
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

/// What becomes of a request with this body.
admission with_body(const route_policy& policy, std::string_view body,
                    const std::vector<field>& sent = {}) {
  const request arrived{"POST", "/", sent, {}, body};
  auto admitted = admit(policy, arrived);
  complete_key(admitted, policy, make_input(arrived, policy, "service", admitted));
  return admitted;
}

TEST(key_of_body, is_a_text_or_a_whole_number) {
  const auto policy = policy_of({in_body("/id")});
  for (const auto& [body, key] : std::vector<std::pair<std::string, std::string>>{
           {R"({"id":"a-1"})", "a-1"},
           {R"( { "x":1, "id" : "\u0061" } )", "a"},
           {R"({"id":17})", "17"},
           {R"({"id":-17.0e1})", "-170"},
           {R"({"id":9007199254740992})", "9007199254740992"},
           {R"({"id":")" + std::string(255, 'k') + R"("})", std::string(255, 'k')}}) {
    const auto found = with_body(policy, body);
    EXPECT_EQ(found.kind, admission_kind::guard) << found.detail;
    EXPECT_EQ(found.key, key);
  }
  EXPECT_EQ(with_body(policy_of({in_body("/a~1b/0/id")}), R"({"a/b":[{"id":"x"}]})").key, "x");
  EXPECT_EQ(with_body(policy_of({in_body("")}), R"("x")").key, "x");
}

TEST(key_of_body, that_is_not_there_is_missing) {
  for (const auto* body :
       {"", "{}", R"({"id":null})", "[]", "7", R"({"ID":"x"})", "id=17", "plain text", "\x89PNG"}) {
    auto policy = policy_of({in_body("/id")});
    const auto found = with_body(policy, body);
    EXPECT_EQ(found.kind, admission_kind::pass) << body;
    EXPECT_EQ(found.why, unguarded_reason::no_key);
    policy.required = true;
    EXPECT_EQ(with_body(policy, body).refusal, problem::key_missing) << body;
    EXPECT_EQ(with_body(policy, body).detail,
              "This route takes the key from /id of the JSON body.");
  }
}

TEST(key_of_body, that_is_none_is_refused) {
  const auto policy = policy_of({in_body("/id")});
  for (const auto& [body, detail] : std::vector<std::pair<std::string, std::string>>{
           {R"({"id":true})", "must be a text or a whole number."},
           {R"({"id":1.5})", "must be a text or a whole number."},
           {R"({"id":1e30})", "must be a text or a whole number."},
           {R"({"id":["a"]})", "must be a text or a whole number."},
           {R"({"id":""})", "is empty."},
           {R"({"id":"\u00e9"})", "must be printable ASCII."},
           {R"({"id":"a\nb"})", "must be printable ASCII."},
           {R"({"id":")" + std::string(256, 'k') + R"("})", "is longer than 255 bytes."},
           // Servers differ in which of two counts, and in what they mend.
           {R"({"id":"a","id":"b"})", "can't be read"},
           {R"({"id":"a",})", "can't be read"},
           {R"({"id":"a"} x)", "can't be read"},
           {R"({"id":9007199254740993})", "can't be read"}}) {
    const auto found = with_body(policy, body);
    EXPECT_EQ(found.refusal, problem::key_malformed) << body;
    EXPECT_NE(found.detail.find("The key, /id of the JSON body, " + detail), std::string::npos)
        << found.detail;
  }
  EXPECT_EQ(with_body(policy, "nonsense", {{"Content-Type", "application/json; x=y"}}).refusal,
            problem::key_malformed);
  auto uuid = policy;
  uuid.key_format = key_format::uuid;
  EXPECT_EQ(with_body(uuid, R"({"id":"17"})").detail,
            "The key, /id of the JSON body, must be a UUID.");
}

TEST(key_of_body, agrees_with_that_of_the_head) {
  const auto policy = policy_of({header("X-Id"), in_body("/id"), in_body("/nr")});
  const std::vector<field> sent{{"X-Id", "17"}};
  EXPECT_EQ(with_body(policy, R"({"id":"17","nr":17})", sent).key, "17");
  EXPECT_EQ(with_body(policy, "{}", sent).key, "17");
  EXPECT_EQ(with_body(policy, "", sent).key, "17");
  EXPECT_EQ(with_body(policy, R"({"nr":17})").key, "17");
  EXPECT_EQ(with_body(policy, R"({"id":"18"})", sent).detail,
            "The request has two keys that differ: another one is /id of the JSON body.");
  EXPECT_EQ(with_body(policy, R"({"id":"17","nr":18})").refusal, problem::key_malformed);
}

TEST(key_of_body, needs_a_scope_only_if_it_is_there) {
  auto policy = policy_of({in_body("/id")});
  policy.scope.source = scope_source::header;
  policy.scope.name = "x-tenant";
  EXPECT_EQ(with_body(policy, "{}").kind, admission_kind::pass);
  EXPECT_EQ(with_body(policy, R"({"id":"a"})").refusal, problem::scope_missing);
  EXPECT_EQ(with_body(policy, R"({"id":"a"})").detail,
            "This route takes the scope of a key from header:x-tenant, which must be sent exactly "
            "once.");
  EXPECT_EQ(with_body(policy, R"({"id":"a"})", {{"X-Tenant", "t"}}).scope_kind, "header:x-tenant");
}

TEST(key_of_body, comes_before_the_content) {
  const auto policy = policy_of({in_body("/id"), content()});
  EXPECT_EQ(with_body(policy, R"({"id":"a"})").key, "a");
  EXPECT_TRUE(with_body(policy, R"({"x":"a"})").key.starts_with("content-"));
}

TEST(anonymous_callers, may_be_refused) {
  auto policy = policy_of({header("X-Id")});
  policy.anonymous = false;
  const std::vector<field> key{{"X-Id", "a"}};
  EXPECT_EQ(ask(policy, "/", key).refusal, problem::scope_missing);
  EXPECT_EQ(ask(policy, "/", {{"X-Id", "a"}, {"Authorization", "Bearer"}}).refusal,
            problem::scope_missing);
  EXPECT_EQ(ask(policy, "/", {{"X-Id", "a"}, {"Authorization", "Bearer x"}}).kind,
            admission_kind::guard);
  EXPECT_EQ(ask(policy, "/").kind, admission_kind::pass);
}

}  // namespace
}  // namespace onceguard::http
