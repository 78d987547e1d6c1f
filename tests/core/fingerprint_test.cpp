// Fingerprints: what makes two requests the same, and that nothing else does.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <onceguard/fingerprint.hpp>

#include "base/hex.hpp"

namespace onceguard {
namespace {

const fingerprint_rule exact{};
const fingerprint_rule as_json{fingerprint_kind::json, json_selection::all, {}};
const fingerprint_rule without_body{fingerprint_kind::none, json_selection::all, {}};
const fingerprint_rule picking{fingerprint_kind::json, json_selection::pick, {"/amount", "/to"}};
const fingerprint_rule omitting{fingerprint_kind::json, json_selection::omit, {"/sent_at"}};

fingerprint_input request_with(std::string_view body, std::string_view type = "application/json") {
  return {.upstream = "payments",
          .method = "POST",
          .path = "/v1/payments",
          .query = "a=1",
          .content_type = type,
          .body = body,
          .more = {}};
}

digest of(const fingerprint_rule& rule, const fingerprint_input& input) {
  return make_fingerprint(rule, input).value;
}
digest of(const fingerprint_rule& rule, std::string_view body) {
  return of(rule, request_with(body));
}

TEST(fingerprint, contains_its_rule) {
  EXPECT_EQ(make_fingerprint(exact, request_with("{}")).method, "exact");
  EXPECT_EQ(make_fingerprint(as_json, request_with("{}")).method, "json");
  EXPECT_EQ(make_fingerprint(as_json, request_with("not JSON")).method, "json");
  EXPECT_EQ(make_fingerprint(without_body, request_with("{}")).method, "none");
  EXPECT_EQ(make_fingerprint(picking, request_with("{}")).method, "json pick /amount /to");
  EXPECT_EQ(make_fingerprint(omitting, request_with("{}")).method, "json omit /sent_at");
}

TEST(fingerprint, is_the_same_in_every_release) {
  // Stored records are compared with these: another value makes every repeat a mismatch.
  const auto hex = [](const fingerprint_rule& rule) {
    return base::to_hex(of(rule, R"({"to":"a","amount":1.0,"sent_at":3})"));
  };
  EXPECT_EQ(hex(exact), "9cfe8746851480e383fcb6e75e1b6fa4e093d7b9e4016649415bb56e7c5e1603");
  EXPECT_EQ(hex(as_json), "1eb225d300f1ab543a55d558dd7426baacd74d34c1664bd9c77877a25976a0f3");
  EXPECT_EQ(hex(without_body), "6d6c40e0ecf85fd47ded1066b09c8ba565076898c14493ca352f81a563d116bf");
  EXPECT_EQ(hex(picking), "d659bf44d57a1016ed02a0e826cda20bac8ea2e6a3703c124823fa4311cccf95");
  EXPECT_EQ(hex(omitting), "887b634eb5cd90ce2241362f0d71aec517510074221f2d7ccd6479117390bf5e");
}

TEST(fingerprint, every_part_counts_under_every_rule) {
  const std::vector<std::string> more{"x"};
  for (const auto& rule : {exact, as_json, without_body, picking, omitting}) {
    std::set<digest> seen;
    const auto add = [&](auto change) {
      auto input = request_with("{}");
      change(input);
      EXPECT_TRUE(seen.insert(of(rule, input)).second) << rule.text();
    };
    add([](fingerprint_input&) {});
    add([](fingerprint_input& changed) { changed.upstream = "other"; });
    add([](fingerprint_input& changed) { changed.method = "PATCH"; });
    add([](fingerprint_input& changed) { changed.path = "/v1/payments/"; });
    add([](fingerprint_input& changed) { changed.query = "a=2"; });
    add([&](fingerprint_input& changed) { changed.more = more; });
  }
}

TEST(fingerprint, parts_that_concatenate_alike_differ) {
  std::set<digest> seen;
  const auto add = [&](fingerprint_input input) {
    EXPECT_TRUE(seen.insert(of(exact, input)).second);
  };
  const auto input = [](std::string_view upstream, std::string_view method, std::string_view path,
                        std::string_view query, std::string_view type, std::string_view body,
                        std::span<const std::string> more = {}) {
    return fingerprint_input{upstream, method, path, query, type, body, more};
  };
  add(input("ab", "", "", "", "", ""));
  add(input("a", "b", "", "", "", ""));
  add(input("", "ab", "", "", "", ""));
  add(input("", "a", "b", "", "", ""));
  add(input("", "", "ab", "", "", ""));
  add(input("", "", "a", "b", "", ""));
  add(input("", "", "", "a", "b", ""));
  add(input("", "", "", "", "a", "b"));
  add(input("", "", "", "", "", "ab"));
  const std::vector<std::string> lists[] = {{"ab"},     {"a", "b"},   {"", "ab"}, {"ab", ""},
                                            {"b", "a"}, {"", "", ""}, {""}};
  for (const auto& list : lists) add(input("", "", "", "", "", "", list));
}

TEST(fingerprint, exact_takes_content_type_and_bytes) {
  const std::string body = R"({"a":1,"b":2})";
  EXPECT_EQ(of(exact, body), of(exact, body));
  EXPECT_NE(of(exact, body), of(exact, R"({"a":1, "b":2})"));
  EXPECT_NE(of(exact, body), of(exact, request_with(body, "text/json")));
}

TEST(fingerprint, none_takes_neither) {
  EXPECT_EQ(of(without_body, "a"), of(without_body, request_with("b", "text/plain")));
}

TEST(fingerprint, json_compares_values_and_not_spelling) {
  EXPECT_EQ(of(as_json, R"({"a":1,"b":"\u0041"})"), of(as_json, " {\"b\":\"A\",\n\"a\": 1.0 }"));
  EXPECT_EQ(of(as_json, "{}"), of(as_json, request_with("{}", "application/vnd.pay+json")));
  EXPECT_NE(of(as_json, R"({"a":1})"), of(as_json, R"({"a":"1"})"));
  EXPECT_NE(of(as_json, "[1,2]"), of(as_json, "[2,1]"));
  EXPECT_NE(of(as_json, "null"), of(as_json, ""));
}

TEST(fingerprint, json_compares_amounts_beyond_a_double_by_their_bytes) {
  EXPECT_NE(of(as_json, R"({"amount":9007199254740993})"),
            of(as_json, R"({"amount":9007199254740992})"));
  EXPECT_NE(of(as_json, R"({"amount":9007199254740993.0})"),
            of(as_json, R"({"amount":9007199254740992.0})"));
  EXPECT_NE(of(as_json, R"({"amount":0.1000000000000000055})"),
            of(as_json, R"({"amount":0.1000000000000000056})"));
  EXPECT_NE(of(as_json, R"({"a":1,"a":2})"), of(as_json, R"({"a":3,"a":2})"));
}

TEST(fingerprint, what_is_not_i_json_is_taken_with_content_type_and_bytes) {
  for (const std::string_view body : {"", "{", R"({"a":1,"a":1})", "\xFF", "9007199254740993"}) {
    EXPECT_EQ(of(as_json, body), of(as_json, body));
    EXPECT_NE(of(as_json, body), of(as_json, std::string(body) + " ")) << body;
    EXPECT_NE(of(as_json, body), of(as_json, request_with(body, "text/plain"))) << body;
    EXPECT_NE(of(picking, body), of(picking, std::string(body) + " ")) << body;
  }
}

TEST(fingerprint, bytes_never_pass_for_a_canonical_form) {
  // Omitting everything leaves the empty text; an empty body is not JSON, and taken as it is.
  const fingerprint_rule nothing{fingerprint_kind::json, json_selection::omit, {""}};
  EXPECT_NE(of(nothing, request_with("{}", "")), of(nothing, request_with("", "")));
  EXPECT_EQ(of(nothing, "{}"), of(nothing, "[1]"));
}

TEST(fingerprint, picks_and_omits) {
  EXPECT_EQ(of(picking, R"({"amount":1,"to":"a","note":"x"})"),
            of(picking, R"({"to":"a","note":"y","amount":1e0})"));
  EXPECT_NE(of(picking, R"({"amount":1,"to":"a"})"), of(picking, R"({"amount":2,"to":"a"})"));
  EXPECT_NE(of(picking, R"({"amount":1,"to":null})"), of(picking, R"({"amount":1})"));
  EXPECT_EQ(of(omitting, R"({"amount":1,"sent_at":1})"), of(omitting, R"({"amount":1})"));
  EXPECT_NE(of(omitting, R"({"amount":1,"sent_at":1})"), of(omitting, R"({"amount":2})"));
}

TEST(fingerprint, rules_do_not_meet) {
  for (const auto body : {"{}", "{"}) {
    std::set<digest> seen;
    for (const auto& rule : {exact, as_json, without_body, picking, omitting}) {
      EXPECT_TRUE(seen.insert(of(rule, body)).second) << rule.text();
    }
  }
}

// ---- the text of a rule ----

struct rule_row {
  fingerprint_rule rule;
  std::string text;
};
const rule_row rules[] = {
    {exact, "exact"},
    {without_body, "none"},
    {as_json, "json"},
    {{fingerprint_kind::json, json_selection::pick, {"/a", "/b~1c"}}, "json pick /a /b~1c"},
    {{fingerprint_kind::json, json_selection::omit, {"/t"}}, "json omit /t"},
    {{fingerprint_kind::json, json_selection::omit, {"/a b", "/%20", "/ "}},
     "json omit /a%20b /%2520 /%20"},
    {{fingerprint_kind::json, json_selection::pick, {""}}, "json pick "},
    {{fingerprint_kind::json, json_selection::pick, {"", "/a", ""}}, "json pick  /a "},
};

TEST(fingerprint_rule, text_and_back) {
  for (const auto& [rule, text] : rules) {
    EXPECT_EQ(rule.text(), text);
    const auto parsed = fingerprint_rule::parse(text);
    ASSERT_TRUE(parsed) << parsed.error().detail;
    EXPECT_EQ(*parsed, rule) << text;
  }
}

TEST(fingerprint_rule, a_selection_without_pointers_is_json) {
  EXPECT_EQ((fingerprint_rule{fingerprint_kind::json, json_selection::pick, {}}.text()), "json");
  EXPECT_EQ((fingerprint_rule{fingerprint_kind::json, json_selection::omit, {}}.text()), "json");
}

TEST(fingerprint_rule, refusals_say_what_and_where) {
  const auto detail = [](std::string_view text) {
    const auto parsed = fingerprint_rule::parse(text);
    if (parsed) return "taken: " + parsed->text();
    EXPECT_EQ(parsed.error().code, errc::invalid_argument);
    return parsed.error().detail;
  };
  const std::string kinds = "byte 1: neither exact, none, form, json, json pick … nor json omit …";
  for (const auto text : {"", "Exact", "exact ", "json ", "json  pick /a", "json all", "none /a"}) {
    EXPECT_EQ(detail(text), kinds) << text;
  }
  const std::string pointer =
      ": not a JSON Pointer: empty, or begins with /, and ~ only as ~0 and ~1";
  EXPECT_EQ(detail("json pick"), "byte 10: a JSON Pointer is missing");
  EXPECT_EQ(detail("json picks /a"), "byte 10: a space is missing before a JSON Pointer");
  EXPECT_EQ(detail("json pick a"), "byte 11" + pointer);
  EXPECT_EQ(detail("json omit /a b"), "byte 14" + pointer);
  EXPECT_EQ(detail("json omit /a /~2"), "byte 14" + pointer);
  const std::string percent = ": a percent sign stands in %20 (space) and %25 (itself) only";
  EXPECT_EQ(detail("json omit /a%"), "byte 13" + percent);
  EXPECT_EQ(detail("json omit /a%2"), "byte 13" + percent);
  EXPECT_EQ(detail("json omit /a /%2F"), "byte 15" + percent);
}

RC_GTEST_PROP(fingerprint_rule, any_pointers_come_back_from_the_text,
              (const std::vector<std::string>& segments, bool pick)) {
  fingerprint_rule rule{
      fingerprint_kind::json, pick ? json_selection::pick : json_selection::omit, {""}};
  for (const auto& segment : segments) {
    std::string pointer = "/";
    for (const char c : segment) pointer += c == '~' ? "~0" : std::string(1, c);
    rule.pointers.push_back(pointer);
  }
  RC_ASSERT(fingerprint_rule::parse(rule.text()).value() == rule);
}

// ---- ids ----

TEST(record_id, is_of_scope_and_key) {
  const auto a = make_scope_digest("credential", "a");
  const auto b = make_scope_digest("credential", "b");
  EXPECT_EQ(make_record_id(a, "k"), make_record_id(a, "k"));
  EXPECT_NE(make_record_id(a, "k"), make_record_id(b, "k"));
  EXPECT_NE(make_record_id(a, "k"), make_record_id(a, "K"));
  EXPECT_EQ(base::to_hex(make_record_id(a, "k")),
            "9e65c174f8a5a10c8c866a638957afea4eb54c4b88573dad99953961d31315e5");
}

TEST(scope_digest, the_kind_of_scope_is_part_of_it) {
  EXPECT_NE(make_scope_digest("header:x-a", "v"), make_scope_digest("header:x-b", "v"));
  EXPECT_NE(make_scope_digest("ab", "c"), make_scope_digest("a", "bc"));
  EXPECT_EQ(base::to_hex(make_scope_digest("credential", "a")),
            "7ad834e2a5f40387b751325ac3b1786bc13da528112e82cddd2b61f81747be51");
}

digest print_of_form(std::string_view content_type, std::string_view body) {
  fingerprint_rule rule;
  rule.kind = fingerprint_kind::form;
  fingerprint_input input;
  input.content_type = content_type;
  input.body = body;
  return make_fingerprint(rule, input).value;
}

constexpr std::string_view urlencoded = "application/x-www-form-urlencoded";

TEST(form, is_its_fields_in_their_order) {
  const auto print = [](std::string_view body) { return print_of_form(urlencoded, body); };
  EXPECT_EQ(print("a=1&b=2"), print("%61=1&b=%32&"));
  EXPECT_EQ(print("a=x+y"), print("a=x%20y"));
  EXPECT_NE(print("a=1&b=2"), print("b=2&a=1"));
  EXPECT_NE(print("a=1&b=2"), print("a=1%26b=2"));
  EXPECT_NE(print("a=12&b="), print("a=1&b=2"));
  EXPECT_NE(print("a=%zz"), print("a=%zZ"));
  EXPECT_NE(print("a=1"), print_of_form("text/plain", "a=1"));
  EXPECT_NE(print("a=%E4"),
            print_of_form("application/x-www-form-urlencoded; charset=latin1", "a=%E4"));
  EXPECT_EQ(print_of_form("Application/X-WWW-Form-Urlencoded", "a=%31"),
            print_of_form("Application/X-WWW-Form-Urlencoded", "a=1"));
}

std::string form_of(const std::vector<std::string>& parts, const std::string& boundary,
                    const std::string& before = {}, const std::string& behind = {}) {
  std::string out = before;
  for (const auto& part : parts) out += "--" + boundary + "\r\n" + part + "\r\n";
  return out + "--" + boundary + "--" + behind;
}

digest print_of_parts(const std::vector<std::string>& parts, const std::string& boundary,
                      const std::string& behind = "\r\n") {
  return print_of_form("multipart/form-data; boundary=" + boundary,
                       form_of(parts, boundary, {}, behind));
}

TEST(multipart_form, is_its_parts_whatever_the_boundary) {
  const std::vector<std::string> parts{"A: b\r\n\r\none", "A: c\r\n\r\n\r\n--tw\r\no", ""};
  const auto print = print_of_parts(parts, "x");
  EXPECT_EQ(print, print_of_parts(parts, "----yy"));
  EXPECT_EQ(print, print_of_form("Multipart/Form-Data ;BOUNDARY=\"a b\"",
                                 form_of(parts, "a b", {}, " \t\r\n")));
  EXPECT_NE(print, print_of_parts({parts[0], parts[1]}, "x"));
  EXPECT_NE(print, print_of_parts({parts[1], parts[0], ""}, "x"));
  EXPECT_NE(print, print_of_parts(parts, "x", "\r\nbehind"));
  EXPECT_NE(print, print_of_form("multipart/form-data; charset=utf-8; boundary=x",
                                 form_of(parts, "x", {}, "\r\n")));
  EXPECT_NE(print_of_form("multipart/form-data; boundary=x", form_of(parts, "x", "before\r\n")),
            print_of_form("multipart/form-data; boundary=x", form_of(parts, "x", "other\r\n")));
}

TEST(multipart_form, that_is_not_well_formed_counts_byte_by_byte) {
  const auto differ = [](const std::string& type, const std::string& one,
                         const std::string& other) {
    EXPECT_NE(print_of_form(type + "x", one), print_of_form(type + "y", other)) << type;
  };
  // The same but for the boundary, and yet none of them is a form that all servers read alike.
  const std::string type = "multipart/form-data; boundary=";
  differ(type, "--x\r\n\r\na", "--y\r\n\r\na");
  differ(type, "--x\n\na\n--x--\n", "--y\n\na\n--y--\n");
  differ(type, "--x\r\n\r\na\r\n--xx\r\n--x--", "--y\r\n\r\na\r\n--yy\r\n--y--");
  differ(type, "--x\r\n\r\na\r\n--x--z", "--y\r\n\r\na\r\n--y--z");
  differ("multipart/mixed; boundary=", "--x\r\n\r\na\r\n--x--", "--y\r\n\r\na\r\n--y--");
  differ("multipart/form-data; boundary=z; boundary=", "--x\r\n\r\na\r\n--x--",
         "--y\r\n\r\na\r\n--y--");
  differ("multipart/form-data; boundary=\"", "--x\r\n\r\na\r\n--x--", "--y\r\n\r\na\r\n--y--");
}

TEST(form, has_a_text) {
  EXPECT_EQ(fingerprint_rule::parse("form")->kind, fingerprint_kind::form);
  EXPECT_EQ(fingerprint_rule::parse("form")->text(), "form");
}

}  // namespace
}  // namespace onceguard
