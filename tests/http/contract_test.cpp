// The HTTP contract over plain values: who is guarded, by which key and scope, and what is kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/field.hpp"
#include "http/admission.hpp"
#include "http/forwarded_fields.hpp"
#include "http/request_target.hpp"
#include "http/settle_by_answer.hpp"

namespace onceguard::http {
namespace {

using fields = std::vector<base::field>;

struct arriving_request {
  route_policy policy;
  std::string_view method = "POST";
  std::string_view target = "/v1/payments";
  fields headers;
  std::string_view address = "192.0.2.1";

  admission now() const {
    request r;
    r.method = method;
    r.target = target;
    r.fields = headers;
    r.client_address = address;
    return admit(policy, r);
  }
};

TEST(admission, only_listed_methods_are_guarded) {
  arriving_request a;
  a.headers = {{"Idempotency-Key", "k"}};
  for (const auto* method : {"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "post"}) {
    a.method = method;
    EXPECT_EQ(a.now().kind, admission_kind::pass) << method;
  }
  for (const auto* method : {"POST", "PATCH"}) {
    a.method = method;
    EXPECT_EQ(a.now().kind, admission_kind::guard) << method;
  }
}

TEST(admission, a_missing_key_passes_unless_the_route_requires_one) {
  arriving_request a;
  EXPECT_EQ(a.now().kind, admission_kind::pass);
  a.policy.required = true;
  const auto refused = a.now();
  EXPECT_EQ(refused.kind, admission_kind::refuse);
  EXPECT_EQ(refused.refusal, problem::key_missing);
}

TEST(admission, more_than_one_key_line_is_refused_even_if_equal) {
  arriving_request a;
  a.headers = {{"Idempotency-Key", "k"}, {"idempotency-key", "k"}};
  const auto refused = a.now();
  EXPECT_EQ(refused.kind, admission_kind::refuse);
  EXPECT_EQ(refused.refusal, problem::key_malformed);
}

TEST(admission, quoted_and_bare_are_the_same_key) {
  arriving_request a;
  a.headers = {{"Idempotency-Key", "\"abc\""}};
  const auto quoted = a.now();
  a.headers = {{"Idempotency-Key", "abc"}};
  EXPECT_EQ(a.now().key, quoted.key);
}

TEST(admission, ambiguous_escapes_are_refused_where_a_key_is_required) {
  arriving_request a;
  a.headers = {{"Idempotency-Key", "k"}};
  for (const auto* target : {"/v1%2Fpayments", "/v1/pay%5cments", "/v1/%00"}) {
    a.target = target;
    a.policy.required = false;
    EXPECT_EQ(a.now().kind, admission_kind::guard) << target;
    a.policy.required = true;
    EXPECT_EQ(a.now().refusal, problem::bad_request) << target;
  }
  a.target = "/v1/payments?x=%2F";
  EXPECT_EQ(a.now().kind, admission_kind::guard);
}

TEST(admission, scopes_differ_by_credential_and_by_their_kind) {
  arriving_request a;
  a.headers = {{"Idempotency-Key", "k"}, {"Authorization", "Bearer one"}};
  const auto one = a.now();
  EXPECT_EQ(one.scope_kind, "credential");
  EXPECT_TRUE(one.more.empty());
  a.headers[1].value = "Bearer two";
  EXPECT_NE(a.now().scope, one.scope);
  a.policy.scope = {scope_source::header, "authorization"};
  a.headers[1].value = "Bearer one";
  EXPECT_NE(a.now().scope, one.scope);  // the kind is part of it
}

TEST(admission, what_a_connection_remembers_of_its_scopes_changes_none) {
  scope_memo last;
  const std::string long_one(600, 'x');
  for (const std::string_view kind : {"credential", "header:x-tenant"}) {
    for (const std::string& value : {std::string("a"), std::string("b"), long_one, std::string()}) {
      const auto made = make_scope_digest(kind, value);
      EXPECT_EQ(last.scope_of(kind, value), made);
      EXPECT_EQ(last.scope_of(kind, value), made);
      EXPECT_EQ(last.scope_of("anonymous", ""), make_scope_digest("anonymous", ""));
      EXPECT_EQ(last.scope_of(kind, value), made);
    }
  }
}

TEST(admission, a_scope_source_that_is_missing_or_there_twice_is_refused) {
  arriving_request a;
  a.policy.scope = {scope_source::header, "x-tenant"};
  a.headers = {{"Idempotency-Key", "k"}};
  EXPECT_EQ(a.now().refusal, problem::scope_missing);
  a.headers = {{"Idempotency-Key", "k"}, {"X-Tenant", "a"}, {"x-tenant", "a"}};
  EXPECT_EQ(a.now().refusal, problem::scope_missing);
  a.headers = {{"Idempotency-Key", "k"}, {"X-Tenant", "a"}};
  EXPECT_EQ(a.now().kind, admission_kind::guard);
  a.policy.scope = {};
  a.headers = {{"Idempotency-Key", "k"}, {"Authorization", "a"}, {"Authorization", "a"}};
  EXPECT_EQ(a.now().refusal, problem::scope_missing);
}

TEST(admission, an_empty_credential_is_a_missing_one) {
  arriving_request a;
  a.headers = {{"Idempotency-Key", "k"}, {"Cookie", "c=1"}};
  const auto without = a.now();
  ASSERT_EQ(without.scope_kind, "anonymous");
  for (const auto* value : {"", "Bearer", "basic", "DIGEST", "token"}) {
    a.headers = {{"Idempotency-Key", "k"}, {"Authorization", value}, {"Cookie", "c=1"}};
    EXPECT_EQ(a.now().scope, without.scope) << value;
    std::vector<std::string> marks{"all fields", "cookie:c=1"};
    if (*value != 0) marks.insert(marks.begin() + 1, "authorization:" + std::string(value));
    EXPECT_EQ(a.now().more, marks);
  }
  a.headers = {{"Idempotency-Key", "k"}, {"Authorization", "Basic c2VjcmV0"}, {"Cookie", "c=1"}};
  EXPECT_EQ(a.now().scope_kind, "credential");
  a.headers = {{"Idempotency-Key", "k"}, {"Authorization", ""}, {"Authorization", "Bearer x"}};
  EXPECT_EQ(a.now().refusal, problem::scope_missing);
  a.headers = {{"Idempotency-Key", "k"}, {"Cookie", ""}, {"X-Token", ""}};
  EXPECT_THAT(a.now().more, ::testing::ElementsAre("all fields"));
}

TEST(admission, an_empty_source_of_a_scope_is_a_missing_one) {
  arriving_request a;
  a.policy.scope = {scope_source::header, "x-tenant"};
  a.headers = {{"Idempotency-Key", "k"}, {"X-Tenant", ""}};
  EXPECT_EQ(a.now().refusal, problem::scope_missing);
  a.headers = {{"Idempotency-Key", "k"}, {"X-Tenant", "a"}, {"X-Tenant", ""}};
  EXPECT_EQ(a.now().refusal, problem::scope_missing);
  a.policy.scope = {scope_source::cookie, "s"};
  for (const auto* cookie : {"s=", "s=; s=a", "s=\"\"", "s= ", "s =a; s=b", ""}) {
    a.headers = {{"Idempotency-Key", "k"}, {"Cookie", cookie}};
    EXPECT_EQ(a.now().refusal, problem::scope_missing) << cookie;
  }
  a.policy.scope = {scope_source::address, {}};
  a.address = "";
  EXPECT_EQ(a.now().refusal, problem::scope_missing);
}

TEST(admission, a_field_that_passes_for_the_scopes_is_one_more_of_it) {
  arriving_request a;
  a.policy.scope = {scope_source::header, "x-tenant"};
  a.headers = {{"Idempotency-Key", "k"}, {"X-Tenant", "a"}, {"X_Tenant", "b"}};
  EXPECT_EQ(a.now().refusal, problem::scope_missing);
  a.headers = {{"Idempotency-Key", "k"}, {"X_Tenant", "b"}};
  EXPECT_EQ(a.now().refusal, problem::scope_missing);
}

TEST(admission, a_key_with_an_underscore_is_neither_the_key_nor_passed_over) {
  arriving_request a;
  for (const fields& headers : {fields{{"Idempotency_Key", "k"}},
                                fields{{"Idempotency-Key", "k"}, {"idempotency_key", "l"}}}) {
    a.headers = headers;
    EXPECT_EQ(a.now().kind, admission_kind::refuse);
    EXPECT_EQ(a.now().refusal, problem::key_malformed);
    a.method = "GET";
    EXPECT_EQ(a.now().kind, admission_kind::pass);
    a.method = "POST";
  }
}

TEST(admission, a_connection_of_too_many_names_is_refused_guarded_or_not) {
  std::string list;
  for (std::size_t i = 0; i <= connection_names_max; ++i) list += "x,";
  arriving_request a;
  a.headers = {{"Connection", list}};
  a.method = "GET";
  EXPECT_EQ(a.now().refusal, problem::bad_request);
}

TEST(admission, former_scopes_are_reported_beside_the_present_one) {
  arriving_request a;
  a.headers = {{"Idempotency-Key", "k"}, {"Authorization", "Bearer x"}, {"X-Tenant", "t"}};
  const auto by_credential = a.now();
  a.policy.scope = {scope_source::header, "x-tenant"};
  const auto by_header = a.now();
  EXPECT_TRUE(by_header.former.empty());
  a.policy.previous_scope = {{},
                             {scope_source::cookie, "s"},
                             {scope_source::header, "x-tenant"},
                             {scope_source::none, {}}};
  const auto both = a.now();
  EXPECT_EQ(both.scope, by_header.scope);
  ASSERT_EQ(both.former.size(), 2u);  // the cookie is not there, and the header is the present one
  EXPECT_EQ(both.former[0].scope, by_credential.scope);
  EXPECT_EQ(both.former[0].scope_kind, "credential");
  EXPECT_EQ(both.former[1].scope_kind, "none");
  a.headers[1].value = "";
  ASSERT_EQ(a.now().former.size(), 2u);
  EXPECT_EQ(a.now().former[0].scope_kind, "anonymous");
  EXPECT_THAT(a.now().former[0].more, ::testing::ElementsAre("all fields", "x-tenant:t"));
}

TEST(admission, a_cookie_scope_reads_that_cookie_and_no_other) {
  arriving_request a;
  a.policy.scope = {scope_source::cookie, "session"};
  a.headers = {{"Idempotency-Key", "k"}, {"Cookie", "x=1; session=s1; xsession=no"}};
  const auto one = a.now();
  ASSERT_EQ(one.kind, admission_kind::guard);
  a.headers[1].value = "session=s1";
  EXPECT_EQ(a.now().scope, one.scope);
  a.headers[1].value = "session=s1; session=s2";
  EXPECT_EQ(a.now().refusal, problem::scope_missing);
}

TEST(admission, without_a_credential_all_fields_that_distinguish_callers_are_marked) {
  arriving_request a;
  a.headers = {{"Host", "h"},           {"Idempotency-Key", "k"}, {"Cookie", "c=1"},
               {"X-Api-Key", "secret"}, {"User-Agent", "curl"},   {"X-User", "u"},
               {"Accept", "*/*"},       {"X-CSRF-Token", "t"},    {"X-Tenant-Id", "7"},
               {"X-Session", "s"},      {"X-Account", "a"},       {"Proxy-Authorization", "p"},
               {"User_Agent", "curl"},  {"X_Api_Key", "u"}};
  const auto got = a.now();
  EXPECT_EQ(got.scope_kind, "anonymous");
  EXPECT_THAT(got.more,
              ::testing::ElementsAre("all fields", "cookie:c=1", "host:h", "proxy-authorization:p",
                                     "x-account:a", "x-api-key:secret", "x-csrf-token:t",
                                     "x-session:s", "x-tenant-id:7", "x-user:u", "x_api_key:u"));
  std::reverse(a.headers.begin(), a.headers.end());
  EXPECT_EQ(a.now().more, got.more);  // whatever their order
}

TEST(target, is_split_raw) {
  EXPECT_EQ(split_target("/a/b?c=d?e").path, "/a/b");
  EXPECT_EQ(split_target("/a/b?c=d?e").query, "c=d?e");
  EXPECT_EQ(split_target("http://h:1/a?b").path, "/a");
  EXPECT_EQ(split_target("http://h").path, "/");
  EXPECT_EQ(split_target("http://h?q").query, "q");
}

TEST(target, paths_are_normalised_for_matching) {
  EXPECT_EQ(normalise_path("/v1/./payments"), "/v1/payments");
  EXPECT_EQ(normalise_path("/v1/x/../payments"), "/v1/payments");
  EXPECT_EQ(normalise_path("/v1/%70ayments"), "/v1/payments");
  EXPECT_EQ(normalise_path("/v1/%2e%2e/payments"), "/payments");
  EXPECT_EQ(normalise_path("/../../x"), "/x");
  EXPECT_EQ(normalise_path("/a/.."), "/");
  EXPECT_EQ(normalise_path("/a%2fb"), "/a%2Fb");
  EXPECT_EQ(normalise_path("/a%zz%2"), "/a%zz%2");
}

TEST(target, the_server_as_a_whole_is_routed_like_its_root) {
  EXPECT_EQ(path_to_match("*"), "/");
  EXPECT_EQ(path_to_match("http://h"), "/");
  EXPECT_EQ(path_to_match("/a/./b?c"), "/a/b");
  EXPECT_TRUE(concerns_whole_server("OPTIONS", "*"));
  EXPECT_TRUE(concerns_whole_server("OPTIONS", "http://h:1"));
  EXPECT_FALSE(concerns_whole_server("OPTIONS", "http://h:1/"));
  EXPECT_FALSE(concerns_whole_server("OPTIONS", "http://h:1?"));
  EXPECT_FALSE(concerns_whole_server("OPTIONS", "/"));
  EXPECT_FALSE(concerns_whole_server("OPTIONS", "/http://h"));
  EXPECT_FALSE(concerns_whole_server("GET", "http://h:1"));
}

TEST(target, prefixes_end_at_a_segments_border) {
  EXPECT_TRUE(path_matches("/v1/pay", "/v1/pay"));
  EXPECT_TRUE(path_matches("/v1/pay", "/v1/pay/x"));
  EXPECT_FALSE(path_matches("/v1/pay", "/v1/payments"));
  EXPECT_TRUE(path_matches("/", "/anything"));
}

TEST(outcome, kept_fields_leave_out_what_concerns_one_connection_or_one_moment) {
  const fields headers{{"Content-Type", "text/plain"},
                       {"Connection", "close, X-Hop"},
                       {"X-Hop", "1"},
                       {"Link", "a"},
                       {"Date", "now"},
                       {"Set-Cookie", "s=1"},
                       {"Idempotent-Replayed", "true"},
                       {"idempotent_replayed", "true"},
                       {"Onceguard-Outcome", "done"},
                       {"Link", "b"},
                       {"Transfer-Encoding", "chunked"},
                       {"Keep-Alive", "timeout=5"},
                       {"Content-Length", "3"}};
  answer kept;
  keep_fields(headers, false, kept);
  using pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(kept.headers, (pairs{{"Content-Type", "text/plain"}, {"Link", "a"}, {"Link", "b"}}));
  answer with_cookie;
  keep_fields(headers, true, with_cookie);
  EXPECT_EQ(with_cookie.headers.size(), 4u);
}

TEST(problems, are_json_with_all_members_and_never_break_out_of_it) {
  problem_detail more{std::string("quote \" backslash \\ line\nend")};
  more.retry_after = milliseconds(1);
  const auto a = problem_answer(problem::in_progress, "urn:onceguard:problem:", more);
  EXPECT_EQ(a.status, 409);
  EXPECT_EQ(a.headers[0].second, "application/problem+json");
  EXPECT_EQ(a.headers[1], (std::pair<std::string, std::string>{"Retry-After", "1"}));
  EXPECT_THAT(a.body, ::testing::HasSubstr("\"type\":\"urn:onceguard:problem:in-progress\""));
  EXPECT_THAT(a.body, ::testing::HasSubstr("quote \\\" backslash \\\\ line\\u000aend"));
  EXPECT_THAT(a.body, ::testing::HasSubstr("\"retryable\":true"));
}

TEST(problems, say_whether_to_send_again_as_the_member_retryable_does) {
  const auto advice_in = [](const answer& a) {
    for (const auto& [name, value] : a.headers) {
      if (name == "Onceguard-Retry") return value;
    }
    return std::string();
  };
  for (int id = 0; id <= static_cast<int>(problem::loop_detected); ++id) {
    const auto a = problem_answer(static_cast<problem>(id), "");
    const bool again = a.body.find("\"retryable\":true") != std::string::npos;
    EXPECT_EQ(advice_in(a) == "same-key", again) << a.body;
  }
  EXPECT_EQ(advice_in(problem_answer(problem::key_reused, "")), "new-key");
  EXPECT_EQ(advice_in(problem_answer(problem::request_too_large, "")), "no");
  EXPECT_EQ(advice_in(problem_answer(problem::outcome_unknown, "")), "no");
  problem_detail probed;
  probed.retryable_by_probe = true;
  EXPECT_EQ(advice_in(problem_answer(problem::outcome_unknown, "", probed)), "same-key");
}

TEST(problems, retry_after_rounds_up_to_whole_seconds) {
  const auto a = problem_answer(problem::backing_off, "", problem_detail(milliseconds(1'001)));
  EXPECT_EQ(a.headers[1].second, "2");
}

}  // namespace
}  // namespace onceguard::http
