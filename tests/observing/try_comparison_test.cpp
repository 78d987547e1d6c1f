#include "observing/try_comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onceguard::observing {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

using field_list = std::vector<onceguard::field>;

struct sent_request {
  std::string target = "/orders";
  std::string body = R"({"amount":1})";
  field_list fields{{"Authorization", "Bearer ann"}, {"Content-Type", "application/json"}};
};

class compared : public testing::Test {
 protected:
  void send(const std::string& key, const sent_request& sent = {}, bool whole = true) {
    http::request request;
    request.method = "POST";
    request.target = sent.target;
    request.fields = sent.fields;
    request.body = sent.body;
    tries.see("/", key, request, whole);
  }
  path_counts counts(const std::string& path = "/orders") {
    return tries.counts().at("/").at(path);
  }

  try_comparison tries;
};

TEST_F(compared, a_repeat_that_is_the_same_differs_in_nothing) {
  send("a");
  send("a");
  EXPECT_EQ(counts().requests, 2u);
  EXPECT_EQ(counts().tries, 1u);
  EXPECT_EQ(counts().differed, 0u);
  EXPECT_THAT(counts().differing, IsEmpty());
  EXPECT_THAT(counts().callers, ElementsAre(Pair("Authorization: Bearer", 2u)));
}

TEST_F(compared, members_are_named_by_their_pointers) {
  send("a", {.body = R"({"amount":1,"sent":{"at":1,"by/~":"x"},"list":[1]})"});
  send("a", {.body = R"({"amount":1,"sent":{"at":2,"by/~":"y"},"list":[2],"new":null})"});
  EXPECT_THAT(counts().differing,
              ElementsAre(Pair("json:/list", 1u), Pair("json:/new", 1u), Pair("json:/sent/at", 1u),
                          Pair("json:/sent/by~1~0", 1u)));
  EXPECT_EQ(counts().spelled, 0u);
}

TEST_F(compared, a_member_that_is_missing_in_the_repeat_is_named) {
  send("a", {.body = R"({"amount":1,"try":1})"});
  send("a", {.body = R"({"amount":1})"});
  EXPECT_THAT(counts().differing, ElementsAre(Pair("json:/try", 1u)));
}

TEST_F(compared, another_spelling_of_the_same_json_is_known) {
  send("a", {.body = R"({"a":1,"b":"x"})"});
  send("a", {.body = R"({ "b": "\u0078", "a": 1 })"});
  EXPECT_EQ(counts().spelled, 1u);
}

TEST_F(compared, a_body_that_is_no_json_differs_as_a_whole) {
  send("a", {.body = "a=1"});
  send("a", {.body = "a=2"});
  EXPECT_THAT(counts().differing, ElementsAre(Pair("body", 1u)));
}

TEST_F(compared, fields_of_the_caller_count_and_those_of_one_try_do_not) {
  send("a");
  send("a", {.fields = {{"Authorization", "Bearer bob"},
                        {"Content-Type", "application/json"},
                        {"traceparent", "00-1-2-01"}}});
  EXPECT_THAT(counts().differing, ElementsAre(Pair("header:authorization", 1u)));
}

TEST_F(compared, two_callers_who_happen_to_use_one_key_are_no_tries) {
  send("a");
  send("a", {.body = R"({"amount":9})", .fields = {{"Authorization", "Bearer bob"}}});
  EXPECT_EQ(counts().requests, 2u);
  EXPECT_EQ(counts().tries, 0u);
  EXPECT_THAT(counts().differing, IsEmpty());
}

TEST_F(compared, cookies_of_sessions_and_headers_of_proxies_are_callers) {
  send("a", {.fields = {{"Cookie", "theme=dark; PHPSESSID=1; sid=2"}, {"X-User", "ann"}}});
  EXPECT_THAT(counts().callers, ElementsAre(Pair("Cookie: PHPSESSID", 1u), Pair("Cookie: sid", 1u),
                                            Pair("X-User", 1u)));
}

TEST_F(compared, requests_without_a_key_or_a_whole_body_are_only_counted) {
  send("");
  send("a", {}, false);
  send("a", {.body = "other"}, false);
  EXPECT_EQ(counts().requests, 3u);
  EXPECT_EQ(counts().with_key, 2u);
  EXPECT_EQ(counts().tries, 0u);
}

TEST_F(compared, the_memory_for_names_and_paths_has_a_bound) {
  for (int i = 0; i < 500; ++i) {
    std::string name;  // each another one, without digits, which would make it an id
    for (const int letter : {i % 26, i / 26}) name.push_back(static_cast<char>('a' + letter));
    send("k", {.target = "/p/" + name, .fields = {{"X-User-" + name, "1"}}});
    send("k", {.target = "/orders", .fields = {{"X-User-" + name, "1"}}});
  }
  const auto paths = tries.counts().at("/");
  EXPECT_LE(paths.size(), try_comparison::paths_max);
  for (const auto& [path, seen] : paths) {
    EXPECT_LE(seen.callers.size(), try_comparison::names_max) << path;
    EXPECT_LE(seen.differing.size(), try_comparison::names_max) << path;
  }
}

TEST(names_a_session, a_balancers_cookie_and_one_against_forgery_are_none) {
  for (const auto* name : {"PHPSESSID", "sessionid", "connect.sid", "auth_token"}) {
    EXPECT_TRUE(names_a_session(name)) << name;
  }
  for (const auto* name : {"AWSALB", "theme", "csrftoken", "XSRF-TOKEN", "__cf_bm"}) {
    EXPECT_FALSE(names_a_session(name)) << name;
  }
}

TEST(path_beginning, ends_before_the_first_id) {
  EXPECT_EQ(path_beginning("/v1/orders/17/items?x=1"), "/v1/orders");
  EXPECT_EQ(path_beginning("/orders"), "/orders");
  EXPECT_EQ(path_beginning("/orders/"), "/orders");
  EXPECT_EQ(path_beginning("/orders/550e8400-e29b-41d4-a716-446655440000"), "/orders");
  EXPECT_EQ(path_beginning("/17"), "/");
  EXPECT_EQ(path_beginning("/"), "/");
  EXPECT_EQ(path_beginning("/a/b/c/d/e"), "/a/b/c/d");
}

}  // namespace
}  // namespace onceguard::observing
