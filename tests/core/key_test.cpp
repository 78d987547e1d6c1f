// The key of the HTTP contract: what is a key, what is refused, and where the fault is.
#include <ostream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <onceguard/key.hpp>

namespace onceguard {
namespace {

using namespace std::string_literals;

constexpr std::string_view bare_characters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/+=@!$&'()*%#^|";

struct accepted {
  std::string value;
  std::string key;
};
void PrintTo(const accepted& row, std::ostream* out) { *out << row.value; }

class both_syntaxes : public testing::TestWithParam<accepted> {};
TEST_P(both_syntaxes, take_a_string) {
  const auto& [value, key] = GetParam();
  for (const auto syntax : {key_syntax::lenient, key_syntax::strict}) {
    const auto parsed = parse_key(value, syntax);
    ASSERT_TRUE(parsed) << parsed.error().detail;
    EXPECT_EQ(*parsed, key);
  }
}
INSTANTIATE_TEST_SUITE_P(
    key, both_syntaxes,
    testing::Values(
        accepted{R"("abc")", "abc"}, accepted{R"(" ")", " "}, accepted{"  \"abc\"  ", "abc"},
        accepted{"\t\"abc\"\t", "abc"}, accepted{R"("a b,c;d")", "a b,c;d"},
        accepted{R"("a\"b")", "a\"b"}, accepted{R"("a\\b")", "a\\b"},
        accepted{R"("~!@#$%^&*()_+{}|:<>?`-=[];',./")", "~!@#$%^&*()_+{}|:<>?`-=[];',./"},
        // Well-formed parameters of every kind are forgotten.
        accepted{R"("k";a)", "k"}, accepted{R"("k";a;b)", "k"}, accepted{R"("k"; a)", "k"},
        accepted{R"("k";  *a=1)", "k"}, accepted{R"("k";a=-12)", "k"},
        accepted{R"("k";a=123456789012345)", "k"}, accepted{R"("k";a=123456789012.123)", "k"},
        accepted{R"("k";a=-0.5)", "k"}, accepted{R"("k";a=?0;b=?1)", "k"},
        accepted{R"("k";a="s\"\\;,")", "k"}, accepted{R"("k";a="")", "k"},
        accepted{R"("k";a=tok/en:x*)", "k"}, accepted{R"("k";a=*)", "k"},
        accepted{R"("k";a=:YWJj:)", "k"}, accepted{R"("k";a=:YWI=:)", "k"},
        accepted{R"("k";a=:YQ==:)", "k"}, accepted{R"("k";a=:YQ:)", "k"},
        accepted{R"("k";a=::)", "k"}, accepted{R"("k";a-b_c.d*1=1 )", "k"}));

class lenient_syntax : public testing::TestWithParam<std::string> {};
TEST_P(lenient_syntax, takes_a_bare_value_that_strict_refuses) {
  const auto& value = GetParam();
  const auto parsed = parse_key(value);
  ASSERT_TRUE(parsed) << parsed.error().detail;
  EXPECT_EQ(*parsed, value);
  const auto strict = parse_key(value, key_syntax::strict);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().code, errc::invalid_argument);
  EXPECT_EQ(strict.error().detail, "the key is not in quotation marks (byte 1)");
}
INSTANTIATE_TEST_SUITE_P(key, lenient_syntax,
                         testing::Values("abc", "0", "8e03978e-40d5-43dd-bc93-6894a57f9324",
                                         std::string(bare_characters), std::string(255, 'k')));

TEST(key, white_space_around_a_bare_value_is_not_part_of_it) {
  EXPECT_EQ(parse_key(" \t abc \t ").value(), "abc");
}

struct refused {
  std::string value;
  std::string detail;
};
void PrintTo(const refused& row, std::ostream* out) { *out << testing::PrintToString(row.value); }

void expect_refusal(const refused& row, key_syntax syntax) {
  const auto parsed = parse_key(row.value, syntax);
  ASSERT_FALSE(parsed) << *parsed;
  EXPECT_EQ(parsed.error().code, errc::invalid_argument);
  EXPECT_EQ(parsed.error().effect, effect::none);
  EXPECT_FALSE(parsed.error().retryable());
  EXPECT_EQ(parsed.error().detail, row.detail);
}

class refused_by_both : public testing::TestWithParam<refused> {};
TEST_P(refused_by_both, syntaxes) {
  expect_refusal(GetParam(), key_syntax::lenient);
  expect_refusal(GetParam(), key_syntax::strict);
}

constexpr const char* no_name = "a parameter's name is missing";
constexpr const char* no_value = "a parameter's value is malformed";
constexpr const char* no_number = "a parameter's number is malformed";
constexpr const char* no_bytes = "a parameter's byte sequence is malformed";

refused refused_at(std::string value, const std::string& description, int byte) {
  return {std::move(value), description + " (byte " + std::to_string(byte) + ")"};
}

INSTANTIATE_TEST_SUITE_P(
    key, refused_by_both,
    testing::Values(
        // Empty.
        refused_at("", "the key is empty", 1), refused_at(" \t", "the key is empty", 3),
        refused_at(R"("")", "the key is empty", 2),
        refused_at(R"(  "";a=1)", "the key is empty", 4),
        // Too long.
        refused_at('"' + std::string(256, 'k') + '"', "the key is longer than 255 bytes", 257),
        // Control and non-ASCII characters.
        refused_at("\"a\tb\"", "a control or non-ASCII character", 3),
        refused_at("\"a\nb\"", "a control or non-ASCII character", 3),
        refused_at("\"a\0b\""s, "a control or non-ASCII character", 3),
        refused_at("\"a\x7F\"", "a control or non-ASCII character", 3),
        refused_at("\"\xC3\xA4\"", "a control or non-ASCII character", 2),
        // Broken quoting.
        refused_at(R"(")", "the closing quotation mark is missing", 2),
        refused_at(R"("abc)", "the closing quotation mark is missing", 5),
        refused_at(R"("abc\")", "the closing quotation mark is missing", 7),
        refused_at(R"("a\b")", "a backslash stands before \" and \\ only", 4),
        refused_at("\"a\\", "a backslash stands before \" and \\ only", 4),
        refused_at(R"("a""b")", "something follows the key", 4),
        refused_at(R"("a"b)", "something follows the key", 4),
        refused_at(R"("a" "b")", "something follows the key", 4),
        refused_at("\"a\"\t;x", "something follows the key", 4),
        // A list, as when several header lines were joined.
        refused_at(R"("a","b")", "a list, where one key is wanted", 4),
        refused_at(R"("a" , "b")", "a list, where one key is wanted", 5),
        refused_at(R"("a",)", "a list, where one key is wanted", 4),
        // Malformed parameters.
        refused_at(R"("k";)", no_name, 5), refused_at(R"("k"; )", no_name, 5),
        refused_at(R"("k";A=1)", no_name, 5), refused_at(R"("k";1=1)", no_name, 5),
        refused_at(R"("k";=1)", no_name, 5), refused_at(R"("k";a;;b)", no_name, 7),
        refused_at(R"("k";a=)", no_value, 7), refused_at(R"("k";a= 1)", no_value, 7),
        refused_at(R"("k";a=?2)", no_value, 8), refused_at(R"("k";a=?)", no_value, 8),
        refused_at(R"("k";a=@1)", no_value, 7), refused_at(R"("k";a=(1))", no_value, 7),
        refused_at(R"("k";a=-)", no_number, 8),
        refused_at(R"("k";a=1234567890123456)", no_number, 23),
        refused_at(R"("k";a=1.)", no_number, 9), refused_at(R"("k";a=1.1234)", no_number, 13),
        refused_at(R"("k";a=1234567890123.1)", no_number, 20),
        refused_at(R"("k";a=:YQ=:)", no_bytes, 11), refused_at(R"("k";a=:YQ===:)", no_bytes, 13),
        refused_at(R"("k";a=:Y:)", no_bytes, 9), refused_at(R"("k";a=:Y-:)", no_bytes, 9),
        refused_at(R"("k";a=:YWJj)", no_bytes, 12),
        refused_at(R"("k";a="x)", "the closing quotation mark is missing", 9),
        refused_at("\"k\";a=\"\x01\"", "a control or non-ASCII character", 8),
        refused_at(R"("k";a=1 ;b)", "something follows the key", 8),
        refused_at(R"("k";a b)", "something follows the key", 6)));

class refused_when_bare : public testing::TestWithParam<refused> {};
TEST_P(refused_when_bare, lenient) { expect_refusal(GetParam(), key_syntax::lenient); }
INSTANTIATE_TEST_SUITE_P(
    key, refused_when_bare,
    testing::Values(refused_at(std::string(256, 'k'), "the key is longer than 255 bytes", 256),
                    refused_at("a,b", "a list, where one key is wanted", 2),
                    refused_at("a, b", "a list, where one key is wanted", 2),
                    refused_at("a b", "a character that needs a quoted key", 2),
                    refused_at("a\tb", "a control or non-ASCII character", 2),
                    refused_at("a;b=1", "a character that needs a quoted key", 2),
                    refused_at("a\"b", "a character that needs a quoted key", 2),
                    refused_at("abc\"", "a character that needs a quoted key", 4),
                    refused_at("a\\b", "a character that needs a quoted key", 2),
                    refused_at("{a}", "a character that needs a quoted key", 1),
                    refused_at("a\r\nb", "a control or non-ASCII character", 2),
                    refused_at("a\0"s, "a control or non-ASCII character", 2),
                    refused_at("k\xFF", "a control or non-ASCII character", 2)));

TEST(key, the_limit_of_255_bytes_counts_what_the_escapes_stand_for) {
  std::string escaped;
  for (int i = 0; i < 255; ++i) escaped += "\\\"";
  EXPECT_EQ(parse_key('"' + escaped + '"').value(), std::string(255, '"'));
  EXPECT_FALSE(parse_key('"' + escaped + "\\\"\""));
}

TEST(key, no_detail_echoes_the_value) {
  const auto parsed = parse_key("<script>alert(1)</script>");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().detail.find("script"), std::string::npos);
}

TEST(key, as_a_uuid) {
  const auto parse = [](std::string_view value) {
    return parse_key(value, key_syntax::lenient, key_format::uuid);
  };
  const std::string uuid = "8e03978e-40D5-43dd-bc93-6894a57f9324";
  EXPECT_EQ(parse(uuid).value(), uuid);
  EXPECT_EQ(parse(" \"" + uuid + "\";a=1").value(), uuid);
  const auto detail = [&](std::string_view value) { return parse(value).error().detail; };
  const std::string description = "not a UUID, 8-4-4-4-12 hexadecimal digits";
  EXPECT_EQ(detail("order-1"), description + " (byte 1)");
  EXPECT_EQ(detail(" \"8e03978e-40D5-43dd-bc93-6894a57f932\""), description + " (byte 38)");
  EXPECT_EQ(detail(uuid + '0'), description + " (byte 37)");
  EXPECT_EQ(detail("8e03978e040D5-43dd-bc93-6894a57f9324"), description + " (byte 9)");
  EXPECT_EQ(detail("\"8e03978e-40D5-43dd-bc93-6894a57f932\\\"\""), description + " (byte 37)");
}

TEST(key, is_uuid) {
  EXPECT_TRUE(is_uuid("00000000-0000-0000-0000-000000000000"));
  EXPECT_TRUE(is_uuid("FFFFFFFF-ffff-FFFF-ffff-FFFFFFFFFFFF"));
  EXPECT_FALSE(is_uuid(""));
  EXPECT_FALSE(is_uuid("{0000000-0000-0000-0000-00000000000}"));
  EXPECT_FALSE(is_uuid("00000000000000000000000000000000"));
  EXPECT_FALSE(is_uuid("g0000000-0000-0000-0000-000000000000"));
  EXPECT_FALSE(is_uuid("00000000-0000-0000-0000-0000000000000"));
}

RC_GTEST_PROP(key, quoted_and_bare_are_the_same_key, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(1, key_size_max + 1);
  const auto key =
      *rc::gen::container<std::string>(size, rc::gen::elementOf(std::string(bare_characters)));
  RC_ASSERT(parse_key(key).value() == key);
  RC_ASSERT(parse_key('"' + key + '"').value() == key);
  RC_ASSERT(parse_key('"' + key + "\"; v=1", key_syntax::strict).value() == key);
}

RC_GTEST_PROP(key, any_visible_text_comes_back_from_its_quoted_form, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(1, key_size_max + 1);
  const auto key = *rc::gen::container<std::string>(size, rc::gen::inRange<char>(0x20, 0x7F));
  std::string quoted = "\"";
  for (const char c : key) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  RC_ASSERT(parse_key(quoted + '"', key_syntax::strict).value() == key);
}

RC_GTEST_PROP(key, random_bytes_give_a_key_within_bounds_or_an_error_that_says_where,
              (const std::string& bytes, bool quoted)) {
  const auto value = quoted ? '"' + bytes + '"' : bytes;
  const auto lenient = parse_key(value);
  const auto strict = parse_key(value, key_syntax::strict);
  if (lenient) {
    RC_ASSERT(!lenient->empty() && lenient->size() <= key_size_max);
    for (const char c : *lenient) RC_ASSERT(c >= 0x20 && c <= 0x7E);
  } else {
    RC_ASSERT(lenient.error().detail.find("(byte ") != std::string::npos);
  }
  if (strict) RC_ASSERT(lenient.value() == *strict);
}

}  // namespace
}  // namespace onceguard
