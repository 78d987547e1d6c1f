// The tables [[policy]], and the policies that a claim brings along.
#include "config/policy/operation_policies.hpp"

#include <gtest/gtest.h>

#include "config/load.hpp"
#include "config/remark_texts.hpp"

namespace onceguard::config {
namespace {

using namespace std::chrono_literals;

loaded read_policies(std::string_view text) {
  sources source;
  source.file = "c.toml";
  source.need_upstream = false;
  return load_text(text, source);
}

constexpr std::string_view payments = R"(
[defaults]
lease = "20s"
retention = "2d"
[[policy]]
name = "payments"
retention = "7d"
unknown = "rerun"
exception = "release"
[[policy]]
name = "mail"
answer = "status"
[serve]
max_lease = "1m"
max_retention = "5d"
)";

std::string fault_of_inline(const loaded& read, std::string_view json) {
  const auto made = read.values.operations->read(json);
  return made ? "" : made.error().detail;
}

TEST(named_policy, says_what_it_says_and_the_defaults_the_rest) {
  const auto read = read_policies(payments);
  ASSERT_TRUE(read.ok()) << texts_of(read);
  const auto one = read.values.operations->find("payments");
  ASSERT_TRUE(one) << one.error().detail;
  EXPECT_EQ((*one)->lease, 20s);
  EXPECT_EQ((*one)->retention, 7 * 24h);
  EXPECT_EQ((*one)->unknown, unknown_policy::rerun);
  EXPECT_EQ((*one)->exception, exception_rule::release);
  const auto other = read.values.operations->find("mail");
  ASSERT_TRUE(other) << other.error().detail;
  EXPECT_FALSE((*other)->keep_body);
  EXPECT_EQ((*other)->retention, 2 * 24h);
  EXPECT_EQ(read.values.operations->usual()->lease, 20s);
  EXPECT_TRUE(read.values.operations->usual()->keep_body);
}

TEST(named_policy, is_named_or_refused) {
  const auto read = read_policies(payments);
  const auto one = read.values.operations->find("payment");
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().code, errc::invalid_argument);
  EXPECT_EQ(one.error().detail,
            "policy: there is no policy \"payment\"; did you mean \"payments\"?");
}

TEST(named_policy, is_shown_with_all_that_it_says) {
  const auto read = read_policies(payments);
  const auto& shown = read.values.policy_options.at("payments");
  EXPECT_EQ(shown.at("retention"), "\"7d\"");
  EXPECT_EQ(shown.at("lease"), "\"20s\"");
  EXPECT_FALSE(shown.contains("name"));
  EXPECT_FALSE(shown.contains("scope"));
}

TEST(named_policy, has_its_faults_where_they_stand) {
  const auto read = read_policies(R"([[policy]]
retention = "7d"
[[policy]]
name = "a b"
[[policy]]
name = "x"
scope = "none"
[[policy]]
name = "x"
unknown = "probe"
backoff = "2m"
effect = "transactional"
)");
  const auto all = texts_of(read);
  for (const std::string_view one :
       {"c.toml:1:1: [[policy]] name: missing",
        "c.toml:4:8: [[policy]] name: expected a name of up to 64 printable characters",
        "c.toml:7:1: [[policy]] unknown option \"scope\"; it belongs in [defaults]",
        "c.toml:8:1: [[policy]] name: \"x\" is there twice",
        "c.toml:10:11: [[policy]] unknown: an operation by its parts has nobody to ask",
        "c.toml:11:11: [[policy]] backoff: must not be longer than backoff_max",
        "c.toml:12:10: [[policy]] effect: \"transactional\" needs"}) {
    EXPECT_NE(all.find(one), all.npos) << one << "\nin\n" << all;
  }
}

TEST(named_policy, has_nobody_to_ask_where_the_defaults_have) {
  const auto read = read_policies(R"([defaults]
unknown = "probe"
probe = "http://127.0.0.1:9/{scope}/{key}"
[[policy]]
name = "x"
)");
  ASSERT_TRUE(read.ok()) << texts_of(read);
  EXPECT_EQ((*read.values.operations->find("x"))->unknown, unknown_policy::hold);
  EXPECT_EQ(read.values.operations->usual()->unknown, unknown_policy::hold);
  EXPECT_EQ(read.values.defaults.unknown, unknown_policy::probe);
}

TEST(inline_policy, sets_what_it_may) {
  const auto read = read_policies(payments);
  const auto one = read.values.operations->read(
      R"({"lease": "40s", "on_busy": "wait", "wait": "250ms", "answer": "status"})");
  ASSERT_TRUE(one) << one.error().detail;
  EXPECT_EQ((*one)->lease, 40s);
  EXPECT_EQ((*one)->on_busy, on_busy_rule::wait);
  EXPECT_EQ((*one)->wait, 250ms);
  EXPECT_FALSE((*one)->keep_body);
  EXPECT_EQ((*one)->retention, 2 * 24h);
  EXPECT_EQ((*read.values.operations->read("{}"))->lease, 20s);
}

TEST(inline_policy, that_is_known_is_not_read_again) {
  const auto read = read_policies(payments);
  const auto& all = *read.values.operations;
  const auto first = all.read(R"({"lease": "40s"})");
  EXPECT_EQ(*all.read(R"({"lease": "40s"})"), *first);
  for (int i = 0; i < 200; ++i) {
    const auto text = R"({"wait": ")" + std::to_string(1'000 + i) + "ms\"}";
    ASSERT_EQ((*all.read(text))->wait, milliseconds(1'000 + i));
  }
  EXPECT_NE(*all.read(R"({"lease": "40s"})"), *first);  // forgotten by now
}

TEST(inline_policy, names_the_member_that_is_wrong) {
  const auto read = read_policies(payments);
  const std::pair<std::string_view, std::string_view> cases[]{
      {R"({"lease": "61s"})", "policy.lease: at most 1m, the max_lease of [serve]"},
      {R"({"upstream_timeout": "61s"})",
       "policy.upstream_timeout: at most 1m, the max_lease of [serve]"},
      {R"({"retention": "6d"})", "policy.retention: at most 5d, the max_retention of [serve]"},
      {R"({"lease": 40})", "policy.lease: expected a duration from 1s to 1d, got the number 40"},
      {R"({"lease": "1ms"})", "policy.lease: expected a duration from 1s to 1d, got \"1ms\""},
      {R"({"leese": "1s"})", "policy.leese: no such option; did you mean \"lease\"?"},
      {R"({"scope": "none"})", "policy.scope: is for requests; an operation by its parts has none"},
      {R"({"backoff": "2m"})", "policy.backoff: must not be longer than backoff_max"},
      {R"({"lease": null})", "policy: the member lease has a value that no option has"},
      {R"({"lease": {"a": {"b": [{}]}}})",
       "policy: the member lease has a value that no option has"},
      {R"(["lease"])", "policy: expected an object of options"},
  };
  for (const auto& [json, wanted] : cases) EXPECT_EQ(fault_of_inline(read, json), wanted) << json;
  EXPECT_TRUE(fault_of_inline(read, R"({"unknown": "rerun"})")
                  .starts_with("policy.unknown: is for a [[policy]] of the service to say; a claim "
                               "may say lease, retention"));
  EXPECT_FALSE(fault_of_inline(read, "{").empty());
  EXPECT_FALSE(fault_of_inline(read, R"({"lease": "2s", "lease": "3s"})").empty());
  EXPECT_EQ(fault_of_inline(read, R"({"wait": ")" + std::string(5'000, '1') + "\"}"),
            "policy: longer than 4096 bytes");
}

TEST(inline_policy, may_be_as_long_as_the_services_own) {
  const auto read = read_policies(R"([defaults]
retention = "90d"
lease = "2h"
[serve]
)");
  EXPECT_EQ(fault_of_inline(read, R"({"wait": "1s"})"), "");
  EXPECT_EQ(fault_of_inline(read, R"({"retention": "90d"})"), "");
  EXPECT_NE(fault_of_inline(read, R"({"retention": "91d"})"), "");
  EXPECT_NE(fault_of_inline(read, R"({"lease": "121m"})"), "");
}

TEST(inline_policy, says_only_what_the_service_allows) {
  const auto none = read_policies("[serve]\ninline = []\n");
  ASSERT_TRUE(none.ok()) << texts_of(none);
  EXPECT_EQ(fault_of_inline(none, R"({"lease": "1s"})"),
            "policy.lease: is for a [[policy]] of the service to say; a claim may say none");
  const auto more = read_policies("[serve]\ninline = [\"unknown\"]\n");
  EXPECT_EQ(fault_of_inline(more, R"({"unknown": "rerun"})"), "");
  EXPECT_EQ(fault_of_inline(more, R"({"unknown": "probe"})"),
            "policy.unknown: an operation by its parts has nobody to ask: it is \"hold\" or "
            "\"rerun\"");
  const auto wrong = texts_of(read_policies("[serve]\ninline = [\"scope\", \"laese\"]\n"));
  EXPECT_NE(wrong.find("[serve] inline: \"scope\": is for requests"), wrong.npos) << wrong;
}

TEST(exception_option, is_for_a_file_with_a_decision_service) {
  EXPECT_TRUE(read_policies("[defaults]\nexception = \"fail\"\n[serve]\n").ok());
  const auto alone = texts_of(read_policies("[defaults]\nexception = \"fail\"\n"));
  EXPECT_NE(alone.find("exception: is for services that use the library"), alone.npos) << alone;
}

}  // namespace
}  // namespace onceguard::config
