// Where calls have their keys, by the contracts that are published, and what of them may differ.
#include "mcp/key_locations.hpp"

#include <gtest/gtest.h>

#include "mcp/tool_call.hpp"

namespace onceguard::mcp {
namespace {

struct read_call {
  std::string key;
  std::string fault;
  std::string print;
};

read_call read_at(const std::string& params, const key_locations& locations = preset("default"),
                  const std::optional<std::string>& beside = {},
                  const std::string& method = "tools/call", bool own = true) {
  const auto text =
      R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":)" + params + '}';
  const auto call = read_tool_call(read_message(text), locations, beside);
  return {call.key, call.fault, call_fingerprint(call, own)};
}

TEST(mcp_key_locations, each_contract_has_its_own) {
  EXPECT_EQ(read_at(R"({"name":"complete_checkout","arguments":{"id":"c","meta":{
                 "ucp-agent":{"profile":"https://a.example"},"idempotency-key":"u"}}})")
                .key,
            "u");
  EXPECT_EQ(read_at(R"({"name":"complete_checkout_session","arguments":{"meta":{
                 "api_version":"2026-01-30","idempotency_key":"a"},"payload":{}}})")
                .key,
            "a");
  EXPECT_EQ(read_at(R"({"name":"create_media_buy","arguments":{"idempotency_key":"m"}})").key, "m");
  EXPECT_EQ(read_at(R"({"name":"buy","_meta":{"x402/idempotency-key":"x"}})").key, "x");
  EXPECT_EQ(read_at(R"({"name":"buy","_meta":{"x402/payment":{"extensions":{"payment-identifier":{
                 "info":{"id":"pay_0123456789abcdef"}}}}}})")
                .key,
            "pay_0123456789abcdef");
  EXPECT_EQ(
      read_at(R"({"message":{"messageId":"w","parts":[]}})", preset("a2a"), {}, "message/send").key,
      "w");
  EXPECT_EQ(read_at(R"({"name":"t"})", preset("default"), "header").key, "header");
}

TEST(mcp_key_locations, a_preset_knows_its_own_place_and_those_of_hosts) {
  const std::string of_ucp = R"({"name":"t","arguments":{"meta":{"idempotency-key":"u"}}})";
  EXPECT_EQ(read_at(of_ucp, preset("ucp")).key, "u");
  EXPECT_EQ(read_at(of_ucp, preset("acp")).key, "");
  for (const auto& name : preset_names()) {
    EXPECT_EQ(read_at(R"({"name":"t","_meta":{"idempotencyKey":"h"}})", preset(name)).key, "h");
  }
  EXPECT_EQ(preset("adcp").argument, "");
  EXPECT_EQ(preset("adcp").others.front().path, path_of("/arguments/idempotency_key"));
  EXPECT_EQ(preset("ucp").argument, "");
}

TEST(mcp_key_locations, two_keys_contradict_each_other_but_for_that_of_the_payment) {
  EXPECT_NE(
      read_at(R"({"name":"t","arguments":{"idempotency_key":"a"}})", preset("default"), "b").fault,
      "");
  EXPECT_EQ(
      read_at(R"({"name":"t","arguments":{"idempotency_key":"a"}})", preset("default"), "a").fault,
      "");
  const auto paid = read_at(R"({"name":"t","_meta":{"x402/idempotency-key":"k","x402/payment":{
                         "extensions":{"payment-identifier":{"info":{"id":"pay"}}}}}})");
  EXPECT_EQ(paid.key, "k");
  EXPECT_EQ(paid.fault, "");
}

TEST(mcp_key_locations, a_name_twice_on_the_way_to_a_key_is_a_fault) {
  EXPECT_NE(
      read_at(R"({"name":"t","arguments":{"meta":{"idempotency_key":"a","idempotency_key":"a"}}})")
          .fault,
      "");
  EXPECT_NE(read_at(R"({"name":"t","arguments":{"meta":{"idempotency-key":7}}})").fault, "");
  EXPECT_EQ(read_at(R"({"name":"t","arguments":{"meta":7}})").fault, "");
}

TEST(mcp_key_locations, what_adcp_leaves_out_is_left_out) {
  const auto print = [](const std::string& more) {
    return read_at(R"({"name":"create_media_buy","arguments":{"idempotency_key":"k","budget":1)" +
                   more + "}}")
        .print;
  };
  const auto first = print("");
  EXPECT_EQ(print(R"(,"context":{"correlation_id":"try 2"})"), first);
  EXPECT_EQ(print(R"(,"governance_context":"token-2")"), first);
  EXPECT_EQ(
      print(R"(,"push_notification_config":{"url":"u","authentication":{"credentials":"a"}})"),
      print(R"(,"push_notification_config":{"url":"u","authentication":{"credentials":"b"}})"));
  EXPECT_EQ(print(R"(,"reporting_webhook":{"url":"u","authentication":{"credentials":"a"}})"),
            print(R"(,"reporting_webhook":{"url":"u","authentication":{"credentials":"b"}})"));
  // Its list is closed.
  EXPECT_NE(print(R"(,"push_notification_config":{"url":"u"})"),
            print(R"(,"push_notification_config":{"url":"v"})"));
  EXPECT_NE(print(R"(,"ext":{"k":1})"), print(R"(,"ext":{"k":2})"));
  EXPECT_NE(print(R"(,"context":"staging")"), print(R"(,"context":"production")"));
}

TEST(mcp_key_locations, an_argument_that_the_tool_does_not_have_leaves_nothing_out) {
  const auto print = [](const std::string& account) {
    return read_at(R"({"name":"pay","arguments":{"idempotency_key":"k","context":{"account":")" +
                       account + R"("}}})",
                   preset("default"), {}, "tools/call", false)
        .print;
  };
  EXPECT_NE(print("A"), print("B"));
  EXPECT_EQ(print("A"), print("A"));
}

TEST(mcp_key_locations, what_is_left_out_belongs_to_the_place_of_the_key) {
  const auto print = [](const std::string& meta) {
    return read_at(R"({"name":"t","arguments":{"meta":{)" + meta + R"(},"id":"c"}})").print;
  };
  // ACP has in `meta` what HTTP has in its header.
  EXPECT_EQ(print(R"("idempotency_key":"k","request_id":"1","timestamp":"t1","signature":"s1")"),
            print(R"("idempotency_key":"k","request_id":"2","timestamp":"t2","signature":"s2")"));
  EXPECT_EQ(print(R"("idempotency_key":"k","user_agent":"a/1","accept_language":"en")"),
            print(R"("idempotency_key":"k","user_agent":"a/2","accept_language":"de")"));
  EXPECT_NE(print(R"("idempotency_key":"k","api_version":"1")"),
            print(R"("idempotency_key":"k","api_version":"2")"));
  EXPECT_NE(print(R"("timestamp":"t1")"), print(R"("timestamp":"t2")"));
  EXPECT_EQ(print(R"("idempotency-key":"k")"), print(R"("idempotency-key":"l")"));
}

TEST(mcp_key_locations, pointers_are_read_as_the_standard_has_it) {
  const std::vector<std::string> names{"a/b", "~1", "", "c"};
  EXPECT_EQ(path_of("/a~1b/~01//c"), names);
  for (const char* none : {"", "a", "/a~2"}) EXPECT_TRUE(path_of(none).empty()) << none;
}

TEST(mcp_key_locations, a_value_is_taken_out_at_its_place) {
  EXPECT_EQ(without_at(R"({"a":{"b":1, "c":2},"d":3})", {"a", "b"}), R"({"a":{"c":2},"d":3})");
  EXPECT_EQ(without_at(R"({"a":{"b":1}})", {"a", "x"}), R"({"a":{"b":1}})");
  EXPECT_EQ(value_at(R"({"a":{"b":[1]}})", {"a", "b"}), "[1]");
  EXPECT_EQ(value_at(R"({"a":7})", {"a", "b"}), "");
}

}  // namespace
}  // namespace onceguard::mcp
