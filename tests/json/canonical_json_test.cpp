// RFC 8785, with its own vectors; what is not I-JSON.
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <onceguard/fingerprint.hpp>

#include "json/canonical.hpp"

namespace onceguard {
namespace {

using namespace std::string_literals;

std::string fault(std::string_view text) {
  const auto made = canonical_json(text);
  if (made) return "canonical: " + *made;
  EXPECT_EQ(made.error().code, errc::invalid_argument);
  return made.error().detail;
}

struct number_row {
  std::uint64_t bits;
  std::string_view text;
};
constexpr number_row rfc_8785_appendix_b[] = {
    {0x0000000000000000, "0"},
    {0x8000000000000000, "0"},
    {0x0000000000000001, "5e-324"},
    {0x8000000000000001, "-5e-324"},
    {0x7fefffffffffffff, "1.7976931348623157e+308"},
    {0xffefffffffffffff, "-1.7976931348623157e+308"},
    {0x4340000000000000, "9007199254740992"},
    {0xc340000000000000, "-9007199254740992"},
    {0x4430000000000000, "295147905179352830000"},
    {0x44b52d02c7e14af5, "9.999999999999997e+22"},
    {0x44b52d02c7e14af6, "1e+23"},
    {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
    {0x444b1ae4d6e2ef4e, "999999999999999700000"},
    {0x444b1ae4d6e2ef4f, "999999999999999900000"},
    {0x444b1ae4d6e2ef50, "1e+21"},
    {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
    {0x3eb0c6f7a0b5ed8d, "0.000001"},
    {0x41b3de4355555553, "333333333.3333332"},
    {0x41b3de4355555554, "333333333.33333325"},
    {0x41b3de4355555555, "333333333.3333333"},
    {0x41b3de4355555556, "333333333.3333334"},
    {0x41b3de4355555557, "333333333.33333343"},
    {0xbecbf647612f3696, "-0.0000033333333333333333"},
    {0x43143ff3c1cb0959, "1424953923781206.2"},
};

TEST(canonical_json, numbers_of_rfc_8785_appendix_b) {
  for (const auto& [bits, text] : rfc_8785_appendix_b) {
    EXPECT_EQ(written(std::bit_cast<double>(bits)), text);
  }
}

TEST(canonical_json, numbers_at_the_borders_of_the_layouts) {
  EXPECT_EQ(written(1e20), "100000000000000000000");
  EXPECT_EQ(written(1e21), "1e+21");
  EXPECT_EQ(written(1.5e21), "1.5e+21");
  EXPECT_EQ(written(123456789012345680000.0), "123456789012345680000");
  EXPECT_EQ(written(1e-6), "0.000001");
  EXPECT_EQ(written(1e-7), "1e-7");
  EXPECT_EQ(written(1.25e-7), "1.25e-7");
  EXPECT_EQ(written(-0.0), "0");
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(-12.5), "-12.5");
  EXPECT_EQ(written(9007199254740991.0), "9007199254740991");
  EXPECT_EQ(written(std::numeric_limits<double>::min()), "2.2250738585072014e-308");
}

TEST(canonical_json, sample_of_rfc_8785_section_3_2_2) {
  EXPECT_EQ(canonical(R"({
      "numbers": [333333333.33333329, 1E30, 4.50,
                  2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    })"),
            R"({"literals":[null,true,false],)"
            R"("numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],)"
            "\"string\":\"\xE2\x82\xAC$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

TEST(canonical_json, names_in_the_order_of_rfc_8785_section_3_2_3) {
  EXPECT_EQ(canonical(R"({
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis"
    })"),
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xC2\x80\":\"Control\","
            "\"\xC3\xB6\":\"Latin Small Letter O With Diaeresis\","
            "\"\xE2\x82\xAC\":\"Euro Sign\","
            "\"\xF0\x9F\x98\x80\":\"Emoji: Grinning Face\","
            "\"\xEF\xAC\xB3\":\"Hebrew Letter Dalet With Dagesh\"}");
  EXPECT_EQ(canonical(R"({"\uffff":4,"\ue000":3,"\udbff\udfff":2,"\ud7ff":1})"),
            "{\"\xED\x9F\xBF\":1,\"\xF4\x8F\xBF\xBF\":2,\"\xEE\x80\x80\":3,"
            "\"\xEF\xBF\xBF\":4}");
}

TEST(canonical_json, equal_values_have_one_form) {
  EXPECT_EQ(canonical(R"({"a":1,"b":[1,2]})"), canonical("{ \"b\" :\t[1 ,2],\r\n\"a\": 1.0 }"));
  EXPECT_EQ(canonical(R"("\u00e4\u0041\/")"), canonical("\"\xC3\xA4"
                                                        "A/\""));
  EXPECT_EQ(canonical("[100, 1e2, 1.0E+2, 1000e-1]"), "[100,100,100,100]");
  EXPECT_EQ(canonical("[0, -0, 0.0, -0.0e5, 0e999999999999]"), "[0,0,0,0,0]");
  EXPECT_EQ(canonical(R"({"":{"":[]}, " ":{}})"), R"({"":{"":[]}," ":{}})");
  EXPECT_EQ(canonical(" 7 "), "7");
  EXPECT_EQ(canonical(R"("\ud83d\ude00")"), "\"\xF0\x9F\x98\x80\"");
  EXPECT_EQ(canonical(R"({"aa":1,"a":2,"b":3,"A":4})"), R"({"A":4,"a":2,"aa":1,"b":3})");
}

TEST(canonical_json, strings_are_escaped_only_where_they_must) {
  EXPECT_EQ(canonical(R"("\b\t\n\f\r\u0000\u001f\u007f\u2028\"\\")"),
            "\"\\b\\t\\n\\f\\r\\u0000\\u001f\x7F\xE2\x80\xA8\\\"\\\\\"");
}

TEST(canonical_json, distinct_numbers_that_share_a_double_are_refused) {
  const auto integer = [](int byte) {
    return "byte " + std::to_string(byte) + ": an integer beyond 2^53";
  };
  EXPECT_EQ(canonical("9007199254740992"), "9007199254740992");
  EXPECT_EQ(canonical("-9007199254740992.0"), "-9007199254740992");
  EXPECT_EQ(canonical("9.007199254740992e15"), "9007199254740992");
  EXPECT_EQ(fault("[9007199254740993]"), integer(2));
  EXPECT_EQ(fault("-9007199254740993"), integer(1));
  EXPECT_EQ(fault("9007199254740993.0"), integer(1));
  EXPECT_EQ(fault("9.007199254740993e15"), integer(1));
  EXPECT_EQ(fault("9007199254740994"), integer(1));
  EXPECT_EQ(fault("18446744073709551616"), "byte 1: a number of more than 17 significant digits");
  EXPECT_EQ(fault("100000000000000000000"), integer(1));
  EXPECT_EQ(fault("1e20"), integer(1));
  EXPECT_EQ(fault("1000000000000000000000000"), integer(1));
  EXPECT_EQ(canonical("1e21"), "1e+21");
  EXPECT_EQ(canonical("-1.5e300"), "-1.5e+300");
}

TEST(canonical_json, significant_digits_are_counted_without_the_zeros_at_either_end) {
  const std::string too_many = "byte 1: a number of more than 17 significant digits";
  EXPECT_EQ(canonical("0.12345678901234567"), "0.12345678901234566");
  EXPECT_EQ(fault("0.123456789012345678"), too_many);
  EXPECT_EQ(fault("-1.00000000000000001"), too_many);
  EXPECT_EQ(canonical("1.0000000000000001"), "1");
  EXPECT_EQ(canonical("0.000000000000000000000000001"), "1e-27");
  EXPECT_EQ(canonical("1.500000000000000000000000000000"), "1.5");
  EXPECT_EQ(canonical("10000000000000000000000e-22"), "1");
}

TEST(canonical_json, numbers_that_no_double_holds_are_not_taken) {
  for (const auto text : {"1e309", "-1e309", "1e-400", "-1e-400", "1e99999999999999999999",
                          "1e-99999999999999999999", "1.8e308", "2e-324"}) {
    EXPECT_EQ(fault(text), "byte 1: a number outside the range of a double") << text;
  }
  EXPECT_EQ(canonical("3e-324"), "5e-324");
  EXPECT_EQ(canonical("1.7976931348623157e308"), "1.7976931348623157e+308");
}

struct fault_row {
  std::string text;
  std::string detail;
};
const fault_row faults[] = {
    {"", "byte 1: a value is missing"},
    {" ", "byte 2: a value is missing"},
    {"\xEF\xBB\xBF{}", "byte 1: a value is missing"},
    {"nul", "byte 1: a value is missing"},
    {"NaN", "byte 1: a value is missing"},
    {"-Infinity", "byte 2: a digit is missing"},
    {"+1", "byte 1: a value is missing"},
    {".5", "byte 1: a value is missing"},
    {"'a'", "byte 1: a value is missing"},
    {"-", "byte 2: a digit is missing"},
    {"1.", "byte 3: a digit is missing"},
    {"1e", "byte 3: a digit is missing"},
    {"1e+", "byte 4: a digit is missing"},
    {"01", "byte 2: a number begins with a needless zero"},
    {"-00", "byte 3: a number begins with a needless zero"},
    {"0x10", "byte 2: something follows the value"},
    {"{} {}", "byte 4: something follows the value"},
    {"{}\0"s, "byte 3: something follows the value"},
    {"[1,2", "byte 5: a comma or the end is missing"},
    {"[1 2]", "byte 4: a comma or the end is missing"},
    {"[1}", "byte 3: a comma or the end is missing"},
    {"[1,]", "byte 4: a value is missing"},
    {"[,1]", "byte 2: a value is missing"},
    {"[", "byte 2: a value is missing"},
    {"]", "byte 1: a value is missing"},
    {"{", "byte 2: a member's name is missing"},
    {"{]", "byte 2: a member's name is missing"},
    {"{,}", "byte 2: a member's name is missing"},
    {"{1:2}", "byte 2: a member's name is missing"},
    {R"({"a")", "byte 5: a colon is missing"},
    {R"({"a" 1})", "byte 6: a colon is missing"},
    {R"({"a":})", "byte 6: a value is missing"},
    {R"({"a":1,})", "byte 8: a member's name is missing"},
    {R"({"a":1;"b":2})", "byte 7: a comma or the end is missing"},
    {"[1] // no", "byte 5: something follows the value"},
    {R"("a)", "byte 3: a string without an end"},
    {R"("a\)", "byte 4: an escape that JSON does not know"},
    {R"("\x41")", "byte 3: an escape that JSON does not know"},
    {R"("\u12g4")", "byte 6: \\u needs four hexadecimal digits"},
    {R"("\u12)", "byte 6: \\u needs four hexadecimal digits"},
    {"\"a\nb\"", "byte 3: a control character in a string"},
    {"\"\0\""s, "byte 2: a control character in a string"},
    // Duplicate names, however they are written and wherever they are.
    {R"({"a":1,"a":1})", "byte 13: a name that occurs twice"},
    {R"({"a":1,"b":2,"\u0061":3})", "byte 24: a name that occurs twice"},
    {R"([{"x":{"":1,"":2}}])", "byte 17: a name that occurs twice"},
    // Lone surrogates.
    {R"("\ud83d")", "byte 8: a lone surrogate"},
    {R"("\ud83dx")", "byte 8: a lone surrogate"},
    {R"("\ude00\ud83d")", "byte 8: a lone surrogate"},
    {R"("\ud83d\ud83d")", "byte 14: a lone surrogate"},
    {R"("\ud83d\u0041")", "byte 14: a lone surrogate"},
    {R"("\ud83d\ue000")", "byte 14: a lone surrogate"},
    // What is not UTF-8.
    {"\"\x80\"", "byte 2: not UTF-8"},
    {"\"a\xFF\"", "byte 3: not UTF-8"},
    {"\"\xC0\xAF\"", "byte 2: not UTF-8"},
    {"\"\xC1\xBF\"", "byte 2: not UTF-8"},
    {"\"\xC3\"", "byte 2: not UTF-8"},
    {"\"\xC3", "byte 2: not UTF-8"},
    {"\"\xE0\x9F\xBF\"", "byte 2: not UTF-8"},
    {"\"\xED\xA0\x80\"", "byte 2: not UTF-8"},
    {"\"\xE2\x82\"", "byte 2: not UTF-8"},
    {"\"\xF0\x8F\xBF\xBF\"", "byte 2: not UTF-8"},
    {"\"\xF4\x90\x80\x80\"", "byte 2: not UTF-8"},
    {"\"\xF5\x80\x80\x80\"", "byte 2: not UTF-8"},
    {"\"\xF0\x9F\x98\"", "byte 2: not UTF-8"},
    {"\xFF", "byte 1: a value is missing"},
};

TEST(canonical_json, text_that_is_not_i_json_is_refused_with_its_position) {
  for (const auto& [text, detail] : faults) {
    EXPECT_EQ(fault(text), detail) << testing::PrintToString(text);
  }
}

TEST(canonical_json, the_edges_of_utf_8) {
  for (const auto text :
       {"\"\xC2\x80\"", "\"\xDF\xBF\"", "\"\xE0\xA0\x80\"", "\"\xED\x9F\xBF\"", "\"\xEE\x80\x80\"",
        "\"\xEF\xBF\xBF\"", "\"\xF0\x90\x80\x80\"", "\"\xF4\x8F\xBF\xBF\""}) {
    EXPECT_EQ(canonical(text), text);
  }
}

TEST(canonical_json, nesting_is_limited_and_needs_no_stack) {
  const auto nested = [](std::size_t depth, std::string_view open, std::string_view close) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += open;
    text += '1';
    for (std::size_t i = 0; i < depth; ++i) text += close;
    return text;
  };
  for (const auto& [open, close] : {std::pair{"[", "]"}, std::pair{R"({"a":)", "}"}}) {
    const auto deepest = nested(512, open, close);
    EXPECT_EQ(canonical(deepest), deepest);
    EXPECT_NE(fault(nested(513, open, close)).find("nesting over 512"), std::string::npos);
    EXPECT_NE(fault(nested(500'000, open, close)).find("nesting over 512"), std::string::npos);
  }
  EXPECT_NE(fault(std::string(1 << 20, '[')).find("nesting over 512"), std::string::npos);
}

TEST(canonical_json, a_megabyte_of_small_values_or_unsorted_names) {
  std::string zeros = "[0";
  while (zeros.size() < (1u << 20)) zeros += ",0";
  zeros += ']';
  EXPECT_EQ(canonical(zeros), zeros);
  std::string names = "{";
  for (int i = 100'000; i > 0; --i) names += '"' + std::to_string(i) + "\":0,";
  names += "\"0\":0}";
  EXPECT_EQ(canonical(names).size(), names.size());
  EXPECT_EQ(canonical(canonical(names)), canonical(names));
}

}  // namespace
}  // namespace onceguard
