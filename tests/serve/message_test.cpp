// Messages in both forms, what clients ask in them, and the ids of operations.
#include <set>

#include <gtest/gtest.h>

#include "serve/claim_bindings.hpp"
#include "serve/json_body.hpp"
#include "serve/long_answers.hpp"
#include "serve/operation_id.hpp"

namespace onceguard::serve {
namespace {

std::string fault_of(std::string_view text, message_form form = message_form::plain) {
  const auto read = read_message(std::string(text), form);
  return read ? std::string() : read.error().detail;
}

result<claim_call> claim_of(std::string_view text) {
  return read_claim(*read_message(std::string(text), message_form::plain));
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

std::string written(const reply_message& made, message_form form) {
  const auto out = encode(made, form);
  EXPECT_EQ(out.size(), out.text.size() + out.body().size());
  return out.text + std::string(out.body());
}

TEST(message, has_a_body_as_text_or_base64_or_behind_its_line) {
  reply_message made;
  made.object["verdict"] = "replay";
  put_answer(made, "reply", {200, {{"A", "\xe9"}}, "text"});
  EXPECT_EQ(written(made, message_form::plain),
            "{\"verdict\":\"replay\",\"reply\":{\"headers\":[[\"A\",\"\u00e9\"]],\"status\":200,"
            "\"body\":\"text\"}}");
  EXPECT_EQ(written(made, message_form::framed),
            "{\"reply\":{\"headers\":[[\"A\",\"\u00e9\"]],\"status\":200},\"verdict\":\"replay\"}\n"
            "text");
  made.body = "\xff";
  EXPECT_EQ(json::parse(written(made, message_form::plain))["reply"]["body_base64"], "/w==");
  EXPECT_EQ(value_of(made)["reply"]["body_base64"], "/w==");
}

TEST(message, says_each_text_as_json_does) {
  std::string all;
  for (char c = 0; c >= 0 && c < 127; ++c) all += c;
  all += "\x7f \u00e9 \u20ac \U0001f600 \u2028";
  for (const std::string& body : {std::string(), std::string("plain"), all}) {
    reply_message made;
    put_stored(made, "answer", std::make_shared<const answer>(answer{200, {}, body}));
    const auto text = written(made, message_form::plain);
    EXPECT_EQ(json::parse(text)["answer"]["body"], body);
    EXPECT_EQ(json_string_size(body), json(body).dump().size());
    EXPECT_EQ(room_of(made, message_form::plain),
              body.empty() ? 0 : body.size() + *json_string_size(body));
    EXPECT_EQ(value_of(made), json::parse(text));
  }
  for (const char* broken : {"\xff", "a\xc3", "\xed\xa0\x80", "\xc0\x80"}) {
    EXPECT_EQ(json_string_size(broken), std::nullopt) << broken;
  }
}

TEST(message, shares_a_stored_body_in_a_frame) {
  const auto stored = std::make_shared<const answer>(answer{200, {}, std::string(100'000, 'x')});
  reply_message made;
  put_stored(made, "answer", stored);
  const auto out = encode(std::move(made), message_form::framed);
  EXPECT_EQ(out.body().data(), stored->body.data());
  EXPECT_LT(out.text.size(), 100u);
}

TEST(message, has_no_member_twice) {
  EXPECT_EQ(fault_of(R"({"key":"a","key":"b"})"), "key: is there twice");
  EXPECT_EQ(fault_of(R"({"a":1,"calls":[{"x":{}},[2],{"call":"claim","key":"k","key":null}]})"),
            "calls[2].key: is there twice");
  EXPECT_EQ(fault_of(R"({"policy":{"a":{"b":1,"\u0062":2}},"policy":1})"),
            "policy.a.b: is there twice");
  EXPECT_EQ(fault_of(R"({"a":{"b":1},"c":{"b":2}})"), "");
}

TEST(claim, takes_null_for_a_member_that_is_missing) {
  const auto read = claim_of(R"({"scope":"s","key":"k","claim":null,"wait_ms":null,"policy":null,
                                 "fingerprint":null,"fingerprint_base64":null})");
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_FALSE(read->claim);
  EXPECT_FALSE(read->wait);
  EXPECT_EQ(read->parts->scope_kind, "application");
}

TEST(claim, takes_null_for_any_member_that_is_missing) {
  EXPECT_TRUE(claim_of(R"({"scope":"s","key":"k","what_comes_later":null})"));
  EXPECT_EQ(claim_of(R"({"scope":"s","key":"k","what_comes_later":0})").error().detail,
            "what_comes_later: there is no such member");
}

TEST(claim, is_bound_to_all_that_it_asks_for) {
  const auto digest = [](std::string_view text) { return digest_of(claim_of(text).value()); };
  const auto one = digest(R"({"scope":"s","key":"k","fingerprint":"f"})");
  EXPECT_EQ(one,
            digest(R"({"scope":"s","key":"k","fingerprint":"f","wait_ms":9,"dispatch":true})"));
  std::set<claim_digest> all{one};
  for (const char* other : {R"("scope":"t","key":"k","fingerprint":"f")",
                            R"("scope":"s","key":"l","fingerprint":"f")",
                            R"("scope":"s","key":"k","fingerprint":"g")",
                            R"("scope":"s","key":"kf")",
                            R"("scope":"s","key":"k","fingerprint":"f","policy":"p")",
                            R"("scope":"s","key":"k","fingerprint":"f","policy":{"lease":"1s"})",
                            R"("scope":"s","key":"k","fingerprint":"f","service":"p")",
                            R"("scope":"s","key":"k","fingerprint":"f","method":"p")",
                            R"("scope":"s","key":"k","fingerprint":"f","path":"p")",
                            R"("scope":"s","key":"k","fingerprint":"f","scope_kind":"p")",
                            R"("scope":"s","key":"k","fingerprint":"f","dispatch":false)",
                            R"("scope":"s","key":"k","fingerprint":"f","renew":"client")",
                            R"("request":{"method":"P","target":"/"})",
                            R"("request":{"method":"P","target":"/b"})",
                            R"("request":{"method":"P","target":"/","body":"b"})",
                            R"("request":{"method":"P","target":"/","headers":[["A","b"]]})",
                            R"("request":{"method":"P","target":"/","headers":[["A","c"]]})",
                            R"("request":{"method":"P","target":"/","client_address":"::1"})",
                            R"("request":{"method":"P","target":"/","credential_verified":true})",
                            R"("request":{"method":"P","target":"/","body_omitted":true})"}) {
    EXPECT_TRUE(all.insert(digest('{' + std::string(other) + '}')).second) << other;
  }
}

TEST(claim, has_an_id_of_its_own) {
  claim_bindings known;
  claim_id first{};
  claim_id other{};
  const claim_digest one{1};
  const claim_digest two{2};
  EXPECT_TRUE(known.bind(first, one));
  for (unsigned char i = 1; i < 200; ++i) {
    other[0] = i;
    EXPECT_TRUE(known.bind(other, two));
  }
  EXPECT_TRUE(known.bind(first, one));
  EXPECT_FALSE(known.bind(first, two));
  EXPECT_NE(bound_id(first, one), bound_id(first, two));
  EXPECT_NE(bound_id(first, one), bound_id(other, one));
}

TEST(answers, are_known_to_be_long) {
  long_answers known;
  record_id one{1};
  record_id other{2};
  known.note(one, long_message);
  known.note(other, long_message - 1);
  EXPECT_EQ(known.bytes_of(one), long_message);
  EXPECT_EQ(known.bytes_of(other), 0u);
}

TEST(settle, backs_off_for_a_day_at_most) {
  const auto read = [](std::string_view text) {
    return read_settle(ending::fail, *read_message(std::string(text), message_form::plain));
  };
  EXPECT_EQ(read(R"({"backoff_ms":86400000})")->backoff, std::chrono::hours(24));
  EXPECT_EQ(read(R"({"backoff_ms":86400001})").error().detail,
            "backoff_ms: at most 86400000, a day");
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
