// Forms, CRC-32, points in time and secrets, as senders write them.
#include "webhook/encodings.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"
#include "webhook/hmac.hpp"

namespace onceguard::webhook {
namespace {

TEST(form, is_decoded) {
  const auto read = parse_form("a=1&b+c=%2B+%C3%A9&&empty=&alone&a=2&d=e=f");
  ASSERT_TRUE(read);
  const form_fields expected{{"a", "1"},    {"b c", "+ \u00e9"}, {"empty", ""},
                             {"alone", ""}, {"a", "2"},          {"d", "e=f"}};
  EXPECT_EQ(*read, expected);
  EXPECT_EQ(parse_form("")->size(), 0U);
  for (const auto* wrong : {"a=%", "a=%4", "%zz=1", "a=1&b=%g0"}) {
    EXPECT_FALSE(parse_form(wrong)) << wrong;
  }
}

TEST(form, is_signed_in_the_order_of_names_and_values) {
  EXPECT_EQ(sorted_text(*parse_form("b=2&B=1&a=9&b=1&b=2")), "B1a9b1b2");
}

TEST(crc32, has_the_check_value_of_the_catalogue) {
  EXPECT_EQ(crc32_of("123456789"), 0xcbf43926U);
  EXPECT_EQ(crc32_of(""), 0U);
}

TEST(instant, is_seconds_or_rfc_3339) {
  EXPECT_EQ(parse_instant("1614265330"), 1614265330);
  EXPECT_EQ(parse_instant("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_instant("2016-02-18T20:01:35Z"), 1455825695);
  EXPECT_EQ(parse_instant("2016-02-29T23:59:60.250Z"), 1456790400);
  for (const auto* wrong :
       {"", "-1", "+1", "1.5", "16142653300000000000", "2016-02-18T20:01:35",
        "2016-02-30T20:01:35Z", "2016-02-18T24:01:35Z", "2016-02-18T20:61:35Z",
        "2016-02-18T20:01:35+00:00", "T", "TZ", "2016-02-18t20:01:35Z", "2016-02-18T20:01:35.Z",
        "2016-02-18T20:01:35.aZ", "1969-12-31T23:59:59Z", "2016-02-18T20:01Z"}) {
    EXPECT_FALSE(parse_instant(wrong)) << wrong;
  }
}

TEST(secret, is_decoded_from_hex) {
  EXPECT_EQ(*decode_secret("00fF", secret_form::hex), std::string("\0\xff", 2));
  EXPECT_EQ(decode_secret("0", secret_form::hex).error().detail, "expected pairs of hex digits");
  EXPECT_EQ(decode_secret("0g", secret_form::hex).error().detail, "expected pairs of hex digits");
}

TEST(secrets, are_lines_of_a_file_none_of_which_is_empty) {
  const testing::temporary_folder folder;
  const auto path = folder.file("secrets");
  const auto fault_of = [&](std::string_view text, secret_form form) {
    std::ofstream(path, std::ios::binary) << text;
    const auto read = read_secrets(path, form);
    return read ? "" : read.error().detail.substr(path.size());
  };
  EXPECT_EQ(fault_of("one\r\ntwo", secret_form::raw), "");
  EXPECT_EQ(read_secrets(path, secret_form::raw).value(), (std::vector<std::string>{"one", "two"}));
  // Anybody can sign with one that is empty.
  EXPECT_EQ(fault_of("whsec_YQ==\nwhsec_\n", secret_form::whsec), ": line 2: an empty secret");
  for (const auto* blank : {"one\n\ntwo", "one\n  \n", "one\n\t\r\n"}) {
    EXPECT_EQ(fault_of(blank, secret_form::raw), ": line 2: a blank line, not a secret") << blank;
  }
  EXPECT_EQ(fault_of("  ", secret_form::raw), ": line 1: a blank line, not a secret");
  EXPECT_EQ(fault_of("one\ntwo \n", secret_form::raw), ": line 2: begins or ends with a space");
  EXPECT_EQ(fault_of("", secret_form::raw), ": holds no secret");
}

}  // namespace
}  // namespace onceguard::webhook
