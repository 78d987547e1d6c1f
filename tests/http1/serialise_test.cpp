// What is written can be read, and nothing can be smuggled into it.
#include <gtest/gtest.h>

#include "http1/reading.hpp"

namespace onceguard::http1::testing {
namespace {

TEST(serialiser, writes_heads) {
  std::string out;
  append_request_line(out, "POST", "/a?b");
  append_field(out, "Host", "a");
  append_content_length(out, 18446744073709551615u);
  append_end_of_head(out);
  EXPECT_EQ(out, "POST /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\n");
  out.clear();
  append_status_line(out, 404);
  append_status_line(out, 404, "Nothing here");
  append_status_line(out, 599);
  append_status_line(out, 999);
  EXPECT_EQ(out,
            "HTTP/1.1 404 Not Found\r\nHTTP/1.1 404 Nothing here\r\nHTTP/1.1 599 Unknown\r\n"
            "HTTP/1.1 999 Unknown\r\n");
}

TEST(serialiser, writes_chunks) {
  std::string out;
  append_chunk(out, "0123456789abcdefg");
  append_chunk(out, "");
  append_last_chunk(out);
  EXPECT_EQ(out, "11\r\n0123456789abcdefg\r\n0\r\n\r\n");
}

TEST(serialiser, writes_dates) {
  const auto date = [](std::int64_t seconds) {
    std::string out;
    append_date(out, seconds);
    return out;
  };
  EXPECT_EQ(date(0), "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n");
  EXPECT_EQ(date(784111777), "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
  EXPECT_EQ(date(784111777), "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
  EXPECT_EQ(date(784111778), "Date: Sun, 06 Nov 1994 08:49:38 GMT\r\n");
  EXPECT_EQ(date(1709251199), "Date: Thu, 29 Feb 2024 23:59:59 GMT\r\n");
  EXPECT_EQ(date(253402300799), "Date: Fri, 31 Dec 9999 23:59:59 GMT\r\n");
}

TEST(serialiser, knows_tokens_and_values) {
  EXPECT_TRUE(is_token("X-Y_z~1"));
  for (const std::string_view text : {""sv, "a b"sv, "a:"sv, "a\r"sv, "a\0"sv, "\xc3\xa4"sv}) {
    EXPECT_FALSE(is_token(text)) << text;
  }
  for (const std::string_view text : {""sv, "a b"sv, "\ta\t"sv, "\xc3\xa4"sv, "a,:;\"\\"sv}) {
    EXPECT_TRUE(is_field_value(text)) << text;
  }
  for (const std::string_view text : {"\r"sv, "a\n"sv, "\0"sv, "long enough\t\x7f"sv, "\x1f"sv}) {
    EXPECT_FALSE(is_field_value(text)) << text;
  }
}

TEST(serialiser, knows_reasons) {
  EXPECT_EQ(reason_of(100), "Continue");
  EXPECT_EQ(reason_of(511), "Network Authentication Required");
  EXPECT_EQ(reason_of(512), "Unknown");
  EXPECT_EQ(reason_of(65535), "Unknown");
}

using serialiser_death = ::testing::Test;

TEST(serialiser_death, on_whatever_would_break_a_line) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::string out;
  EXPECT_DEATH(append_field(out, "X", "a\r\nY: b"), "control character in its value");
  EXPECT_DEATH(append_field(out, "X", "a\0"sv), "control character in its value");
  EXPECT_DEATH(append_field(out, "X: y\r\nZ", "a"), "malformed name");
  EXPECT_DEATH(append_field(out, "", "a"), "malformed name");
  EXPECT_DEATH(append_status_line(out, 200, "OK\r\nX: y"), "control character in its reason");
  EXPECT_DEATH(append_status_line(out, 99), "three digits");
  EXPECT_DEATH(append_request_line(out, "GET /x HTTP/1.1\r\n", "/"), "malformed method");
  EXPECT_DEATH(append_request_line(out, "GET", "/a HTTP/1.1\r\nX: y"), "target");
  EXPECT_DEATH(append_request_line(out, "GET", ""), "target");
  EXPECT_DEATH(append_date(out, 253402300800), "four digits");
}

}  // namespace
}  // namespace onceguard::http1::testing
