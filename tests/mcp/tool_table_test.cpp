// Hints of tools, and the list that tells agents how to send a key.
#include "mcp/tool_table.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace onceguard::mcp {
namespace {

key_locations with_argument(const std::string& name) {
  auto out = preset("default");
  out.argument = name;
  return out;
}

const std::string list = R"({ "tools":[
  {"name":"plain","inputSchema":{"type":"object","properties":{"n":{"type":"number"}}}},
  {"name":"empty","inputSchema":{ }},
  {"name":"reads","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},
  {"name":"adds","inputSchema":{"properties":{},"required":["n"]},
   "annotations":{"destructiveHint":false}},
  {"name":"again","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}},
  {"name":"own","inputSchema":{"properties":{"key":{"type":"string"}}}},
  {"name":"odd","inputSchema":7},
  {"no":"name"}, 8 ],"big":12345678901234567890 })";

TEST(mcp_tools, hints_have_the_defaults_of_the_protocol) {
  tool_table table(with_argument("key"), key_rule::optional);
  EXPECT_EQ(table.learn(list), "");
  EXPECT_EQ(table.find("none"), nullptr);
  const auto* plain = table.find("plain");
  ASSERT_NE(plain, nullptr);
  EXPECT_TRUE(plain->destructive && !plain->read_only && !plain->idempotent);
  EXPECT_TRUE(table.find("reads")->read_only && !table.find("reads")->destructive);
  EXPECT_FALSE(table.find("adds")->destructive);
  EXPECT_TRUE(table.find("again")->idempotent);
  EXPECT_TRUE(table.find("own")->has_key_argument);
  table.forget();
  EXPECT_TRUE(table.empty());
}

TEST(mcp_tools, the_list_describes_the_argument_where_a_key_is_of_use) {
  const tool_table table(with_argument("key"), key_rule::destructive);
  const auto described = table.described(list);
  const auto before = nlohmann::json::parse(list);
  const auto after = nlohmann::json::parse(described);
  const auto has = [&](int tool) {
    const auto& schema = after["tools"][static_cast<std::size_t>(tool)]["inputSchema"];
    return schema.contains("properties") && schema["properties"].contains("key") &&
           schema["properties"]["key"]["description"].get<std::string>().size() > 50;
  };
  EXPECT_TRUE(has(0) && has(1) && has(3) && has(4));
  EXPECT_FALSE(has(2));
  for (const std::size_t same : {2u, 5u, 6u, 7u, 8u}) {
    EXPECT_EQ(after["tools"][same], before["tools"][same]);
  }
  EXPECT_EQ(after["tools"][0]["inputSchema"]["required"], nlohmann::json({"key"}));
  EXPECT_EQ(after["tools"][3]["inputSchema"]["required"], nlohmann::json({"n"}));
  // What is not changed keeps its bytes.
  EXPECT_NE(described.find(R"("big":12345678901234567890 })"), std::string::npos);
}

TEST(mcp_tools, without_an_argument_nothing_is_described) {
  EXPECT_EQ(tool_table(with_argument(""), key_rule::all).described(list), list);
  EXPECT_EQ(tool_table(with_argument("key"), key_rule::all).described("[]"), "[]");
}

TEST(mcp_tools, a_tool_that_takes_a_key_at_the_place_of_a_contract_is_described_no_other) {
  const tool_table table(preset("default"), key_rule::all);
  const std::string of_ucp = R"({"tools":[{"name":"complete_checkout","inputSchema":{"properties":{
    "meta":{"properties":{"idempotency-key":{"type":"string"}}}}}}]})";
  EXPECT_EQ(table.described(of_ucp), of_ucp);
}

TEST(mcp_tools, an_argument_that_a_composed_schema_may_name_is_the_tools_own) {
  const std::string own = R"({"properties":{"key":{"type":"string"}}})";
  const auto listed = [](const std::string& schema) {
    return R"({"tools":[{"name":"t","inputSchema":)" + schema + "}]}";
  };
  for (const auto& schema :
       {R"({"type":"object","anyOf":[)" + own + "]}", R"({"allOf":[true,)" + own + "]}",
        R"({"oneOf":[)" + own + R"(],"properties":{"n":{}}})",
        R"({"$ref":"#/$defs/a","$defs":{"a":)" + own + "}}",
        R"({"properties":{},"if":{},"then":)" + own + "}",
        std::string(R"({"$ref":"https://schemas.example/t"})")}) {
    tool_table table(with_argument("key"), key_rule::optional);
    EXPECT_EQ(table.learn(listed(schema)), "");
    EXPECT_TRUE(table.find("t")->has_key_argument) << schema;
    EXPECT_EQ(table.described(listed(schema)), listed(schema));
  }
  // Composed of others: the server would refuse what it does not know.
  for (const std::string schema :
       {R"({"anyOf":[{"required":["n"]}]})", R"({"properties":{"n":{"const":"key"}}})"}) {
    tool_table table(with_argument("key"), key_rule::optional);
    EXPECT_EQ(table.learn(listed(schema)), "");
    EXPECT_FALSE(table.find("t")->has_key_argument) << schema;
    EXPECT_NE(table.described(listed(schema)), listed(schema));
  }
}

TEST(mcp_tools, a_page_names_the_next_one) {
  tool_table table(with_argument("key"), key_rule::optional);
  EXPECT_EQ(table.learn(R"({"tools":[],"nextCursor":"a\"b"})"), R"("a\"b")");
  EXPECT_EQ(table.learn(R"({"tools":[],"nextCursor":null})"), "");
}

TEST(mcp_tools, which_calls_need_a_key) {
  const tool_hints destroys;
  tool_hints adds;
  adds.destructive = false;
  tool_hints reads;
  reads.read_only = true;
  reads.destructive = false;
  const tool_table none(with_argument("key"), key_rule::optional);
  const tool_table some(with_argument("key"), key_rule::destructive);
  const tool_table all(with_argument("key"), key_rule::all);
  EXPECT_FALSE(none.must_have_key(destroys));
  EXPECT_TRUE(some.must_have_key(destroys));
  EXPECT_FALSE(some.must_have_key(adds));
  EXPECT_TRUE(all.must_have_key(adds));
  EXPECT_FALSE(all.must_have_key(reads));
}

}  // namespace
}  // namespace onceguard::mcp
