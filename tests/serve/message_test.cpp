// Messages in both forms, what clients ask in them, and the ids of operations.
#include <gtest/gtest.h>

#include "serve/calls.hpp"
#include "serve/operation_id.hpp"

namespace onceguard::serve {
namespace {

std::string fault_of(std::string_view text, message_form form = message_form::plain) {
  const auto read = read_message(text, form);
  return read ? std::string() : read.error().detail;
}

result<claim_call> claim_of(std::string_view text) {
  return read_claim(*read_message(text, message_form::plain));
}

TEST(message, is_an_object_with_a_body_behind_its_line) {
  const auto framed = read_message("{\"a\":1}\n\n\x01 {", message_form::framed).value();
  EXPECT_EQ(framed.object["a"], 1);
  EXPECT_EQ(framed.body, "\n\x01 {");
  EXPECT_EQ(read_message("", message_form::plain)->object, json::object());
  EXPECT_FALSE(read_message("{}", message_form::plain)->body);
  EXPECT_EQ(read_message("\n", message_form::framed)->body, "");
}

TEST(message, is_bounded) {
  EXPECT_EQ(fault_of(std::string(8, '[') + "1" + std::string(8, ']')),
            "the message is no JSON object");
  EXPECT_EQ(fault_of(std::string(20, '[') + std::string(20, ']')), "the JSON is nested too deep");
  std::string many = "{\"a\":[0";
  for (int i = 0; i < 100'000; ++i) many += ",0";
  EXPECT_EQ(fault_of(many + "]}"), "the JSON has too many values");
  EXPECT_EQ(fault_of("{}", message_form::framed),
            "the line of the framed message has no line feed");
}

TEST(message, takes_the_forms_that_are_named) {
  EXPECT_EQ(form_of_content("Application/JSON; charset=utf-8"), message_form::plain);
  EXPECT_EQ(form_of_content(framed_type), message_form::framed);
  EXPECT_EQ(form_of_content("text/json"), std::nullopt);
  EXPECT_EQ(form_accepted("text/html, application/vnd.onceguard.framed;q=1"), message_form::framed);
  EXPECT_EQ(form_accepted("*/*"), message_form::plain);
}

TEST(message, carries_each_byte_of_a_header_as_a_character) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(bytes_of_latin(latin_of_bytes(all)), all);
  EXPECT_EQ(bytes_of_latin("\u0100"), std::nullopt);
  EXPECT_EQ(bytes_of_latin("\xff"), std::nullopt);
}

TEST(message, has_a_body_as_text_or_base64_or_behind_its_line) {
  reply_message made;
  put_answer(made, "reply", {200, {{"A", "\xe9"}}, "text"});
  EXPECT_EQ(encode(made, message_form::plain),
            "{\"reply\":{\"body\":\"text\",\"headers\":[[\"A\",\"\u00e9\"]],\"status\":200}}");
  EXPECT_EQ(encode(made, message_form::framed),
            "{\"reply\":{\"headers\":[[\"A\",\"\u00e9\"]],\"status\":200}}\ntext");
  made.body = "\xff";
  EXPECT_EQ(value_of(made)["reply"]["body_base64"], "/w==");
}

TEST(claim, takes_null_for_a_member_that_is_missing) {
  const auto read = claim_of(R"({"scope":"s","key":"k","claim":null,"wait_ms":null,"policy":null,
                                 "fingerprint":null,"fingerprint_base64":null})");
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_FALSE(read->claim);
  EXPECT_FALSE(read->wait);
  EXPECT_EQ(read->parts->scope_kind, "application");
}

TEST(claim, names_the_first_wrong_member) {
  EXPECT_EQ(claim_of(R"({"scope":"s"})").error().detail, "key: is missing");
  EXPECT_EQ(claim_of(R"({"scope":"s","key":"k","scope_kind":""})").error().detail,
            "scope_kind: is empty");
  EXPECT_EQ(claim_of(R"({"request":{"method":"P","target":"/ b"}})").error().detail,
            "request.target: expected a path, and a query, without scheme and host");
}

TEST(claim, waits_as_long_as_a_duration_can_be) {
  const auto read = claim_of(R"({"scope":"s","key":"k","wait_ms":18446744073709551615})");
  EXPECT_EQ(read->wait, milliseconds::max());
}

operation_id some_id() {
  operation_id out;
  out.record.fill(0xAB);
  out.held.token = 0x0102030405060708;
  out.held.claim_id.fill(0x10);
  out.mark = "0123456789abcdef";
  out.kind = rules_kind::object;
  out.rules = R"({"lease":"1s"}?~)";
  return out;
}

TEST(operation, is_found_by_its_id) {
  const auto wanted = some_id();
  const auto text = wanted.text();
  EXPECT_EQ(text.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "-_"),
            text.npos);
  const auto read = operation_id::parse(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->record, wanted.record);
  EXPECT_EQ(read->held, wanted.held);
  EXPECT_EQ(read->mark, wanted.mark);
  EXPECT_EQ(read->kind, wanted.kind);
  EXPECT_EQ(read->rules, wanted.rules);
  EXPECT_EQ(read->text(), text);
}

TEST(operation, has_no_other_id) {
  const auto text = some_id().text();
  const auto before_kind = text.rfind('-', 134) + 1;
  for (std::size_t length = 0; length <= before_kind; ++length) {
    EXPECT_FALSE(operation_id::parse(text.substr(0, length))) << length;
  }
  EXPECT_FALSE(operation_id::parse("2" + text.substr(1)));
  EXPECT_FALSE(operation_id::parse(text + "="));
  EXPECT_FALSE(operation_id::parse(text + std::string(9'000, 'A')));
  EXPECT_TRUE(is_observed_id(make_observed_id()));
  EXPECT_FALSE(is_observed_id(text));
  EXPECT_FALSE(is_observed_id("observed-"));
}

}  // namespace
}  // namespace onceguard::serve
