// Results that ask for a payment, in the forms that clients of x402 read.
#include "mcp/x402_result.hpp"

#include <string>

#include <gtest/gtest.h>

#include "mcp/answer_form.hpp"
#include "mcp/message.hpp"

namespace onceguard::mcp {
namespace {

const std::string price = R"({"x402Version":2,"accepts":[{"scheme":"exact"}]})";

std::string wrapped(const std::string& data) {
  return R"({"x402/error":{"code":402,"data":)" + data + "}}";
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\\\"") : std::string(1, c);
  return out + '"';
}

TEST(mcp_x402_result, a_price_is_found_in_each_form) {
  for (const auto& one : {price, wrapped(price)}) {
    EXPECT_TRUE(asks_for_payment(R"({"structuredContent":)" + one + "}")) << one;
    EXPECT_TRUE(asks_for_payment(R"({"content":[{"type":"text","text":)" + quoted(one) + "}]}"));
  }
}

TEST(mcp_x402_result, what_has_no_price_asks_for_nothing) {
  for (const std::string result :
       {R"({"structuredContent":{"x402Version":2,"accepts":[]}})",
        R"({"structuredContent":{"accepts":[{}]}})", R"({"structuredContent":{"x402Version":2}})",
        R"({"content":[{"type":"text","text":"payment required"}]})", R"({"content":[]})",
        R"({"content":[{"type":"image"}]})", R"({"content":1})", "[]"}) {
    EXPECT_FALSE(asks_for_payment(result)) << result;
  }
}

TEST(mcp_x402_result, only_a_call_without_a_payment_is_unpaid) {
  const auto form = [](const char* preset_name, const std::string& meta) {
    const auto text = R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",)"
                      R"("arguments":{},"_meta":)" +
                      meta + "}}";
    const auto request = read_message(text);
    const auto locations = preset(preset_name);
    return form_of(read_tool_call(request, locations), locations);
  };
  EXPECT_TRUE(form("x402", "{}").unpaid);
  EXPECT_TRUE(form("default", "{}").unpaid);
  EXPECT_FALSE(form("x402", R"({"x402/payment":{}})").unpaid);
  EXPECT_FALSE(form("adcp", "{}").unpaid);
}

}  // namespace
}  // namespace onceguard::mcp
