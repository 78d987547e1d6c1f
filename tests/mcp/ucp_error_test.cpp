// Errors as the Universal Commerce Protocol has them.
#include "mcp/ucp_error.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace onceguard::mcp {
namespace {

TEST(mcp_ucp_error, a_refusal_has_a_code_and_its_words) {
  refusal why;
  why.kind = refusal_kind::mismatch;
  for (const auto& [refused, code] : {std::pair(refused_by(why, "k"), "idempotency_conflict"),
                                      std::pair(key_missing("there"), "key_missing"),
                                      std::pair(scope_missing("who?"), "scope_missing")}) {
    const auto error = nlohmann::json::parse(ucp_refusal(refused));
    EXPECT_EQ(error["code"], -32000);
    EXPECT_EQ(error["message"], refused.text);
    EXPECT_EQ(error["data"]["code"], code);
    EXPECT_EQ(error["data"]["content"], refused.text);
    EXPECT_EQ(error["data"]["onceguard/outcome"], refused.outcome);
  }
}

}  // namespace
}  // namespace onceguard::mcp
