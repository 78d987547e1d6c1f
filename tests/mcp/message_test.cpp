// What the guard reads in messages of the Model Context Protocol.
#include "mcp/message.hpp"

#include <gtest/gtest.h>

#include "mcp/tool_call.hpp"

namespace onceguard::mcp {
namespace {

std::string call_with(const std::string& params) {
  return R"({"jsonrpc":"2.0","id":"7","method":"tools/call","params":)" + params + '}';
}

key_locations locations_with(const std::string& argument) {
  auto out = preset("default");
  out.argument = argument;
  return out;
}

tool_call read(const std::string& params, const std::string& argument = "idempotency_key") {
  const auto text = call_with(params);
  auto out = read_tool_call(read_message(text), locations_with(argument));
  out.arguments = {};  // a view into the text
  return out;
}

TEST(mcp_message, kinds_differ) {
  const auto kind = [](std::string_view text) { return read_message(text).kind; };
  EXPECT_EQ(kind(R"({"jsonrpc":"2.0","id":1,"method":"ping"})"), message_kind::request);
  EXPECT_EQ(kind(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"),
            message_kind::notification);
  EXPECT_EQ(kind(R"({"jsonrpc":"2.0","id":1,"result":{}})"), message_kind::response);
  EXPECT_EQ(kind(R"({"jsonrpc":"2.0","id":1,"error":{}})"), message_kind::response);
  EXPECT_EQ(kind(" [ ]"), message_kind::batch);
  for (const char* other : {"", " ", "{}", "1", "\"a\"", R"({"id":1})"}) {
    EXPECT_EQ(kind(other), message_kind::other) << other;
  }
  for (const char* malformed : {"{", "{\"id\":1,}", "\xEF\xBB\xBF{}", "{\"a\":\"\xff\"}", "{'a':1}",
                                "{\"a\":1}{}", "// {}"}) {
    EXPECT_NE(refusal_of(read_message(malformed)).find("-32700"), std::string::npos) << malformed;
  }
  EXPECT_EQ(kind(std::string(100'000, '[')), message_kind::malformed);
}

TEST(mcp_message, what_another_reader_may_understand_differently_is_refused) {
  for (const char* twice : {R"({"id":1,"method":"ping","method":"tools/call","params":{}})",
                            R"({"id":1,"method":"tools/call","params":{},"params":{"name":"t"}})",
                            R"({"id":1,"id":2,"method":"ping"})"}) {
    EXPECT_NE(refusal_of(read_message(twice)).find("-32600"), std::string::npos) << twice;
  }
  EXPECT_NE(refusal_of(read_message("[]")).find("-32600"), std::string::npos);
  EXPECT_EQ(refusal_of(read_message(R"({"id":1,"method":"ping"})")), "");
  EXPECT_EQ(refusal_of(read_message("")), "");
}

TEST(mcp_message, the_id_is_kept_as_it_is_written) {
  const std::string text = R"({"id": 1e0 ,"method":"ping"})";
  EXPECT_EQ(read_message(text).id, "1e0");
}

TEST(mcp_call, a_key_is_found_wherever_it_may_stand) {
  EXPECT_EQ(read(R"({"name":"t","arguments":{"idempotency_key":"k"}})").key, "k");
  EXPECT_EQ(read(R"({"name":"t","arguments":{"id":"k"}})", "id").key, "k");
  EXPECT_EQ(read(R"({"name":"t","idempotencyKey":"k"})").key, "k");
  for (const char* name : {"onceguard/idempotency-key", "idempotencyKey", "idempotency-key"}) {
    EXPECT_EQ(read(std::string(R"({"name":"t","_meta":{")") + name + R"(":"k"}})").key, "k");
  }
  EXPECT_TRUE(read(R"({"name":"t","arguments":{"id":"k"}})").key.empty());
  EXPECT_TRUE(read(R"({"name":"t","arguments":{"idempotency_key":null}})").key.empty());
}

TEST(mcp_call, the_same_key_twice_is_fine_and_two_keys_are_not) {
  EXPECT_EQ(read(R"({"name":"t","idempotencyKey":"k","_meta":{"idempotencyKey":"k"}})").fault, "");
  EXPECT_NE(read(R"({"name":"t","idempotencyKey":"k","_meta":{"idempotencyKey":"l"}})").fault, "");
}

TEST(mcp_call, wrong_keys_have_a_fault) {
  for (const char* key : {"1", "true", "[]", "{}", "\"\""}) {
    EXPECT_NE(read(std::string(R"({"name":"t","idempotencyKey":)") + key + "}").fault, "") << key;
  }
  EXPECT_NE(read(R"({"name":"t","idempotencyKey":")" + std::string(256, 'k') + "\"}").fault, "");
  EXPECT_EQ(read(R"({"name":"t","idempotencyKey":")" + std::string(255, 'k') + "\"}").fault, "");
}

TEST(mcp_call, members_that_stand_there_twice_have_a_fault) {
  EXPECT_NE(read(R"({"name":"t","name":"u","idempotencyKey":"k"})").fault, "");
  EXPECT_NE(read(R"({"name":"t","idempotencyKey":"k","arguments":{"a":1,"a":2}})").fault, "");
  EXPECT_NE(read(R"({"name":"t","_meta":{"idempotencyKey":"k","idempotencyKey":"k"}})").fault, "");
}

TEST(mcp_call, the_revision_says_whether_results_have_a_type) {
  const auto typed = [](const std::string& version) {
    return read(R"({"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":")" + version +
                "\"}}")
        .has_result_type;
  };
  EXPECT_TRUE(typed("2026-07-28"));
  EXPECT_TRUE(typed("2027-01-01"));
  EXPECT_FALSE(typed("2025-11-25"));
}

TEST(mcp_call, the_fingerprint_is_of_tool_and_arguments) {
  const auto print = [](const std::string& params) {
    const auto text = call_with(params);
    return call_fingerprint(read_tool_call(read_message(text), preset("default")), true);
  };
  const auto first = print(R"({"name":"t","arguments":{"a":1,"b":2,"idempotency_key":"k"}})");
  EXPECT_EQ(print(R"({"arguments":{"b":2.0,"a":1},"_meta":{"progressToken":3},"name":"t"})"),
            first);
  EXPECT_EQ(print(R"({"name":"t","arguments":{"a":1,"b":2},"inputResponses":{},"task":{}})"),
            first);
  EXPECT_NE(print(R"({"name":"t","arguments":{"a":1,"b":3}})"), first);
  EXPECT_NE(print(R"({"name":"u","arguments":{"a":1,"b":2}})"), first);
  EXPECT_EQ(print(R"({"name":"t"})"), print(R"({"name":"t","arguments":{"idempotency_key":"k"}})"));
  // Integers that a double can't keep apart are different.
  EXPECT_NE(print(R"({"name":"t","arguments":{"a":9007199254740993}})"),
            print(R"({"name":"t","arguments":{"a":9007199254740992}})"));
}

TEST(mcp_call, the_argument_is_taken_out_and_nothing_else_changes) {
  const auto text = call_with(R"({ "name" : "t", "arguments": {"n":1.0, "idempotency_key":"k"} })");
  EXPECT_EQ(without_argument(text, "idempotency_key"),
            call_with(R"({ "name" : "t", "arguments": {"n":1.0} })"));
  EXPECT_EQ(without_argument(text, "other"), text);
}

TEST(mcp_response, its_end_is_read) {
  const auto end = [](const std::string& members) {
    return end_of(read_answer(R"({"jsonrpc":"2.0","id":1,)" + members + '}'));
  };
  EXPECT_EQ(end(R"("result":{"content":[]})"), response_end::complete);
  EXPECT_EQ(end(R"("result":{"content":[],"isError":false})"), response_end::complete);
  EXPECT_EQ(end(R"("result":{"content":[],"isError":true})"), response_end::tool_error);
  EXPECT_EQ(end(R"("result":{"resultType":"input_required"})"), response_end::more_input);
  EXPECT_EQ(end(R"("result":{"resultType":"complete"})"), response_end::complete);
  EXPECT_EQ(end(R"("result":7)"), response_end::unknown);
  EXPECT_EQ(end(R"("result":{},"error":{"code":-32601})"), response_end::unknown);
  for (const char* code : {"-32601", "-32602", "-32602.0"}) {
    EXPECT_EQ(end(std::string(R"("error":{"code":)") + code + "}"), response_end::refused_call);
  }
  for (const char* code : {"-32700", "-32600", "-32603", "-32000", "1", "\"-32602\""}) {
    EXPECT_EQ(end(std::string(R"("error":{"code":)") + code + "}"), response_end::unknown);
  }
}

TEST(mcp_response, one_that_is_cut_off_is_none) {
  const std::string_view whole =
      R"({"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":""}],"isError":true}})";
  EXPECT_EQ(end_of(read_answer(whole)), response_end::tool_error);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto cut = read_answer(whole.substr(0, size));
    EXPECT_NE(cut.kind, message_kind::response) << size;
    EXPECT_EQ(end_of(cut), response_end::unknown) << size;
  }
}

TEST(mcp_message, with_a_nul_is_no_json) {
  const std::string given = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
  EXPECT_EQ(read_message(given).kind, message_kind::request);
  EXPECT_EQ(read_message(given + std::string(1, '\0') + "x").kind, message_kind::malformed);
}

TEST(mcp_response, what_some_reader_understands_is_read) {
  const auto is_response = [](std::string_view text, std::string_view id) {
    const auto got = read_answer(text);
    return got.kind == message_kind::response && id_value(got.id) == id_value(id);
  };
  EXPECT_TRUE(is_response(R"({"id":1,"result":{"text":"cut \ud83d"}})", "1"));
  EXPECT_TRUE(is_response("{\"id\":1,\"result\":{\"text\":\"\xff\"}}", "1"));
  EXPECT_TRUE(is_response(R"({"id":1,"result":{"n":NaN,"m":-Infinity}})", "1"));
  EXPECT_TRUE(is_response("\xEF\xBB\xBF{\"id\":1,\"result\":{}}", "1") ||
              read_answer("\xEF\xBB\xBF{}").kind == message_kind::other);
  // Of two members, most readers take the last.
  EXPECT_TRUE(is_response(R"({"id":1,"result":{},"id":2})", "2"));
}

TEST(mcp_message, ids_are_compared_by_value) {
  for (const char* same : {"1", "1.0", "1e0", "10e-1", "1.00"}) {
    EXPECT_EQ(id_value(same), id_value("1")) << same;
  }
  EXPECT_EQ(id_value(R"("a\/b")"), id_value(R"("a/b")"));
  EXPECT_EQ(id_value(R"("\u0061")"), id_value(R"("a")"));
  EXPECT_EQ(id_value("-0"), id_value("0"));
  EXPECT_NE(id_value("1"), id_value(R"("1")"));
  EXPECT_NE(id_value("1"), id_value("2"));
  EXPECT_NE(id_value("null"), id_value(R"("null")"));
}

TEST(mcp_message, a_lone_surrogate_is_no_fault_of_a_client) {
  // As JSON.stringify writes what it is given.
  EXPECT_EQ(read_message(R"({"id":1,"method":"m","params":{"a":"\ud83d"}})").kind,
            message_kind::request);
  EXPECT_EQ(read_message(R"({"id":1,"method":"m","params":{"a":"\\ud83d"}})").kind,
            message_kind::request);
  EXPECT_EQ(read_message(R"({"id":1,"method":"m","params":{"a":"\ud83"}})").kind,
            message_kind::malformed);
  EXPECT_NE(read(R"({"name":"t","idempotencyKey":"\ud83d"})").fault, "");
}

TEST(mcp_message, a_cancellation_names_its_request) {
  EXPECT_EQ(cancelled_id(
                read_message(R"({"method":"notifications/cancelled","params":{"requestId":"a"}})")),
            "\"a\"");
  EXPECT_EQ(cancelled_id(read_message(R"({"method":"notifications/progress","params":{}})")), "");
}

}  // namespace
}  // namespace onceguard::mcp
