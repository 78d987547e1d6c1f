// Errors as the Agentic Commerce Protocol has them.
#include "mcp/acp_error.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "mcp/answer_form.hpp"

namespace onceguard::mcp {
namespace {

using json = nlohmann::json;

json data_of(const refused_call& refused) {
  const auto error = json::parse(acp_refusal(refused));
  EXPECT_EQ(error["code"], -32000);
  EXPECT_EQ(error["message"], refused.text);
  const auto& data = error["data"];
  EXPECT_EQ(data["message"], refused.text);
  EXPECT_EQ(data["onceguard/outcome"], refused.outcome);
  return data;
}

json data_of(refusal_kind kind) {
  refusal why;
  why.kind = kind;
  return data_of(refused_by(why, "k"));
}

bool answers(const std::string& error) {
  const auto text = R"({"jsonrpc":"2.0","id":1,"error":)" + error + '}';
  return is_acp_answer(read_answer(text));
}

TEST(mcp_acp_error, a_refusal_has_the_type_of_what_the_agent_can_do) {
  EXPECT_EQ(data_of(refusal_kind::mismatch)["type"], "invalid_request");
  EXPECT_EQ(data_of(refusal_kind::mismatch)["code"], "idempotency_conflict");
  EXPECT_EQ(data_of(refusal_kind::busy)["type"], "service_unavailable");
  EXPECT_EQ(data_of(refusal_kind::busy)["onceguard/retry"], "same-key");
  EXPECT_EQ(data_of(refusal_kind::unknown)["type"], "processing_error");
  EXPECT_EQ(data_of(key_missing("there"))["param"], "$.meta.idempotency_key");
  EXPECT_EQ(data_of(key_malformed("too long"))["code"], "invalid");
  EXPECT_EQ(data_of(scope_missing("who?"))["type"], "invalid_request");
}

TEST(mcp_acp_error, what_the_shop_says_of_a_request_is_an_answer) {
  EXPECT_TRUE(answers(R"({"code":-32000,"message":"m","data":{"type":"invalid_request",)"
                      R"("code":"session_not_found","message":"m"}})"));
  EXPECT_TRUE(answers(R"({"data":{"type":"request_not_idempotent","code":"c","message":"m"}})"));
}

TEST(mcp_acp_error, a_fault_of_processing_and_what_is_no_error_of_the_contract_is_none) {
  for (const char* error :
       {R"({"data":{"type":"processing_error","code":"c","message":"m"}})",
        R"({"data":{"type":"service_unavailable","code":"c","message":"m"}})",
        R"({"data":{"type":"invalid_request","message":"m"}})",
        R"({"data":{"type":"invalid_request","code":1,"message":"m"}})",
        R"({"data":"invalid_request"})", R"({"code":-32000,"message":"m"})", R"("text")"}) {
    EXPECT_FALSE(answers(error)) << error;
  }
  EXPECT_FALSE(
      is_acp_answer(read_answer(R"({"jsonrpc":"2.0","id":1,"result":{},"error":{"data":)"
                                R"({"type":"invalid_request","code":"c","message":"m"}}})")));
}

TEST(mcp_acp_error, only_its_preset_has_this_form) {
  const std::string text =
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}})";
  const auto request = read_message(text);
  for (const auto& name : preset_names()) {
    const auto locations = preset(name);
    const auto form = form_of(read_tool_call(request, locations), locations);
    const auto refused = json::parse(refusal_response(key_malformed("none"), "1", form));
    EXPECT_EQ(refused.contains("error"), name == "acp" || name == "ucp") << name;
  }
}

TEST(mcp_answer_form, a_repeated_error_says_so_in_its_data) {
  EXPECT_EQ(repeated_error(R"({"code":-1,"data":{"type":"t"}})"),
            R"({"code":-1,"data":{"onceguard/replayed":true,"type":"t"}})");
  EXPECT_EQ(repeated_error(R"({"code":-1})"), R"({"data":{"onceguard/replayed":true},"code":-1})");
  EXPECT_EQ(repeated_error(R"({"code":-1,"data":"t"})"), R"({"code":-1,"data":"t"})");
}

}  // namespace
}  // namespace onceguard::mcp
