// Repeats and refusals as the Ad Context Protocol has them.
#include "mcp/adcp_result.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "mcp/answer_form.hpp"
#include "mcp/message.hpp"

namespace onceguard::mcp {
namespace {

using json = nlohmann::json;

json refused_with(const refused_call& refused, std::string_view context = R"({"n":2})") {
  const auto result =
      json::parse(adcp_refusal(result_of_refusal(refused, false), refused, context));
  const auto& found = result["structuredContent"];
  EXPECT_EQ(json::parse(result["content"][0]["text"].get<std::string>()), found);
  EXPECT_EQ(result["isError"], true);
  EXPECT_EQ(result["_meta"]["onceguard/outcome"], refused.outcome);
  if (!context.empty()) {
    EXPECT_EQ(found["context"], json::parse(context));
  } else {
    EXPECT_FALSE(found.contains("context"));
  }
  return found["adcp_error"];
}

refusal why_of(refusal_kind kind) {
  refusal out;
  out.kind = kind;
  out.retry_after = milliseconds(1'500);
  return out;
}

TEST(mcp_adcp_result, a_repeat_says_so_in_both_of_its_forms) {
  const std::string kept =
      R"({"content":[{"type":"text","text":"{\"id\":\"b\",\"context\":{\"n\":1}}"}],)"
      R"("structuredContent":{"id":"b","context":{"n":1},"replayed":false}})";
  const auto again = json::parse(adcp_repeat(kept, R"({"n":2})"));
  const auto wanted = json::parse(R"({"id":"b","context":{"n":2},"replayed":true})");
  EXPECT_EQ(again["structuredContent"], wanted);
  EXPECT_EQ(json::parse(again["content"][0]["text"].get<std::string>()), wanted);
  const auto bare = json::parse(adcp_repeat(kept, ""));
  EXPECT_EQ(bare["structuredContent"], json::parse(R"({"id":"b","replayed":true})"));
}

TEST(mcp_adcp_result, an_error_is_no_replay_and_has_the_context_of_its_repeat) {
  const std::string kept =
      R"({"isError":true,"structuredContent":{"adcp_error":{"code":"X"},"context":{"n":1}}})";
  EXPECT_EQ(json::parse(adcp_repeat(kept, R"({"n":2})"))["structuredContent"],
            json::parse(R"({"adcp_error":{"code":"X"},"context":{"n":2}})"));
}

TEST(mcp_adcp_result, what_has_no_structure_stays) {
  for (const std::string kept :
       {R"({"content":[{"type":"text","text":"done"}]})", R"({"content":[]})", R"({"content":1})",
        R"({"structuredContent":[1]})", R"({"content":[{"type":"text","text":"{1}"}]})", "[]"}) {
    EXPECT_EQ(adcp_repeat(kept, R"({"n":2})"), kept);
  }
}

TEST(mcp_adcp_result, a_conflict_tells_nothing_of_the_other_call) {
  const auto found = refused_with(refused_by(why_of(refusal_kind::mismatch), "k"));
  EXPECT_EQ(found["code"], "IDEMPOTENCY_CONFLICT");
  EXPECT_EQ(found.size(), 2u) << found;
}

TEST(mcp_adcp_result, each_refusal_says_how_to_recover) {
  const auto busy = refused_with(refused_by(why_of(refusal_kind::busy), "k"), "");
  EXPECT_EQ(busy["code"], "SERVICE_UNAVAILABLE");
  EXPECT_EQ(busy["recovery"], "transient");
  EXPECT_EQ(busy["retry_after"], 2);
  const auto unknown = refused_with(refused_call{"unknown", next_step::nothing, {}, "t"});
  EXPECT_EQ(unknown["code"], "ONCEGUARD_UNKNOWN");
  EXPECT_EQ(unknown["recovery"], "terminal");
  const auto missing = refused_with(key_missing("there"));
  EXPECT_EQ(missing["code"], "INVALID_REQUEST");
  EXPECT_EQ(missing["field"], "idempotency_key");
  EXPECT_EQ(refused_with(scope_missing("who?"))["code"], "AUTH_REQUIRED");
}

TEST(mcp_adcp_result, only_its_preset_has_this_form) {
  const std::string text =
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{)"
      R"("idempotency_key":"k","context":{"n":2}}}})";
  const auto request = read_message(text);
  const auto form = [&](const char* name) {
    const auto locations = preset(name);
    return form_of(read_tool_call(request, locations), locations);
  };
  EXPECT_EQ(form("adcp").adcp_context, R"({"n":2})");
  EXPECT_FALSE(form("default").adcp_context);
  EXPECT_EQ(repeated_result(R"({"structuredContent":{}})", form("ucp")),
            R"({"_meta":{"onceguard/replayed":true},"structuredContent":{}})");
}

TEST(mcp_answer_form, a_task_is_marked_inside_of_its_envelope) {
  answer_form form;
  form.is_tool = false;
  EXPECT_EQ(repeated_result(R"({"task":{"id":"t"}})", form),
            R"({"task":{"metadata":{"onceguard/replayed":true},"id":"t"}})");
  EXPECT_EQ(repeated_result(R"({"kind":"task","id":"t","metadata":{"a":1}})", form),
            R"({"kind":"task","id":"t","metadata":{"onceguard/replayed":true,"a":1}})");
}

}  // namespace
}  // namespace onceguard::mcp
