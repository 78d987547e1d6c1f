// Chunks and trailers, and every limit: what the limit allows passes, one more does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http1/reading.hpp"

namespace onceguard::http1::testing {
namespace {

using ::testing::HasSubstr;

reading chunks(std::string_view body, const limits& bounds = {}) {
  const std::string bytes =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(body);
  const auto made = read_requests(bytes, bounds);
  EXPECT_EQ(read({reader::kind::request, bytes, bounds}, bytewise), made) << body;
  return made;
}

std::string body_of(std::string_view body) {
  const auto made = chunks(body);
  EXPECT_EQ(made.fault, "") << body;
  EXPECT_EQ(made.messages.size(), 1u);
  EXPECT_TRUE(made.messages.at(0).complete);
  return made.messages.at(0).body;
}

std::string fault_of(std::string_view body, const limits& bounds = {}) {
  return chunks(body, bounds).fault;
}

TEST(chunked, bodies_are_decoded) {
  EXPECT_EQ(body_of("0\r\n\r\n"), "");
  EXPECT_EQ(body_of("000\r\n\r\n"), "");
  EXPECT_EQ(body_of("5\r\nhello\r\n0\r\n\r\n"), "hello");
  EXPECT_EQ(body_of("0000000000000005\r\nhello\r\n0\r\n\r\n"), "hello");
  EXPECT_EQ(body_of("2\r\n\r\n\r\n1\r\n0\r\n0\r\n\r\n"), "\r\n0") << "line ends within chunks";
  EXPECT_EQ(body_of("a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n"), "01234567890123456789");
  EXPECT_EQ(body_of("3;a=b\r\nabc\r\n0;last\r\n\r\n"), "abc");
  EXPECT_EQ(body_of("3;a=\"b c\"\r\nabc\r\n0\r\n\r\n"), "abc");
  EXPECT_EQ(body_of("3;a;b=c\r\nabc\r\n0\r\n\r\n"), "abc");
}

TEST(chunked, lines_that_parsers_read_differently_are_refused) {
  for (const std::string_view body : {"5\nhello\r\n0\r\n\r\n",
                                      "\r\n",
                                      "\r\n5\r\nhello\r\n",
                                      "g\r\n",
                                      "-1\r\n",
                                      "+1\r\nx\r\n",
                                      "0x1\r\nx\r\n",
                                      " 1\r\nx\r\n",
                                      "1 \r\nx\r\n",
                                      "1\t\r\nx\r\n",
                                      "1 ;a\r\nx\r\n",
                                      "1,\r\n",
                                      "1_0\r\n",
                                      "1.\r\n",
                                      ";a\r\n",
                                      "00000000000000001\r\nx\r\n",
                                      "10000000000000000\r\n",
                                      "ffffffffffffffffff\r\n",
                                      "1\r\r\nx\r\n",
                                      "1;a=\rb\r\nx\r\n",
                                      "1;a=\x01\r\nx\r\n",
                                      "1;\x7f\r\nx\r\n",
                                      "1;a\nx\r\n",
                                      "1;a b\r\nx\r\n",
                                      "1;a=\"b\r\nx\r\n"}) {
    EXPECT_THAT(fault_of(body), ::testing::StartsWith("A chunk's ")) << body;
  }
  EXPECT_THAT(fault_of("1;a=b\0c\r\nx\r\n"sv), HasSubstr("control"));
}

TEST(chunked, data_must_be_followed_by_a_line_end) {
  for (const std::string_view body :
       {"1\r\nx\n0\r\n\r\n", "1\r\nx0\r\n\r\n", "1\r\nxy\r\n0\r\n\r\n", "1\r\nx\r0\r\n\r\n",
        "1\r\nx \r\n0\r\n\r\n"}) {
    EXPECT_EQ(fault_of(body), "A chunk is not followed by a line end.") << body;
  }
}

TEST(chunked, a_huge_size_is_only_a_number) {
  const auto made = chunks("fffffffffffffffe\r\nabc");
  EXPECT_THAT(made.fault, HasSubstr("ended"));
  EXPECT_EQ(made.messages.at(0).body, "abc");
}

TEST(trailers, are_read_over) { EXPECT_EQ(body_of("1\r\nx\r\n0\r\nX: y\r\nZ:\r\n\r\n"), "x"); }

TEST(trailers, are_kept_apart_until_the_next_message) {
  reader one(reader::kind::request, {});
  const std::string_view bytes =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX: "
      "y\r\nZ:\r\n\r\n";
  std::ranges::copy(bytes, one.prepare(bytes.size()).begin());
  one.commit(bytes.size());
  auto got = one.next();
  EXPECT_TRUE(one.trailers().empty());
  while (got != progress::end && got != progress::error) got = one.next();
  ASSERT_EQ(got, progress::end);
  ASSERT_EQ(one.trailers().size(), 2u);
  EXPECT_EQ(one.trailers()[0].name, "X");
  EXPECT_EQ(one.trailers()[0].value, "y");
  EXPECT_EQ(one.trailers()[1].value, "");
  one.reset();
  std::ranges::copy(bytes, one.prepare(bytes.size()).begin());
  one.commit(bytes.size());
  ASSERT_EQ(one.next(), progress::head);
  EXPECT_TRUE(one.trailers().empty());
}

TEST(trailers, never_change_the_framing_or_the_fields) {
  const auto made = chunks(
      "1\r\nx\r\n0\r\nContent-Length: 40\r\nHost: b\r\nConnection: close\r\n"
      "Upgrade: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(made.fault, "");
  ASSERT_EQ(made.messages.size(), 2u);
  EXPECT_EQ(made.messages[0].fields.size(), 2u);
  EXPECT_TRUE(made.messages[0].keep_alive);
  EXPECT_EQ(made.messages[1].target, "/2");
}

TEST(trailers, are_as_strict_as_a_head) {
  EXPECT_THAT(fault_of("0\r\nX: y\n\r\n"), HasSubstr("line feed"));
  EXPECT_THAT(fault_of("0\r\n\n"), HasSubstr("line feed"));
  EXPECT_THAT(fault_of("0\r\n\rX"), HasSubstr("carriage return"));
  EXPECT_THAT(fault_of("0\r\n X: y\r\n\r\n"), HasSubstr("folded"));
  EXPECT_THAT(fault_of("0\r\nX: y\r\n\tz\r\n\r\n"), HasSubstr("folded"));
  EXPECT_THAT(fault_of("0\r\n: y\r\n\r\n"), HasSubstr("no name"));
  EXPECT_THAT(fault_of("0\r\nX: \0\r\n\r\n"sv), HasSubstr("NUL"));
  EXPECT_THAT(fault_of("0\r\nX : y\r\n\r\n"), HasSubstr("malformed"));
  EXPECT_THAT(fault_of("0\r\nX\r\n\r\n"), HasSubstr("malformed"));
  EXPECT_THAT(fault_of("0\r\nTransfer-Encoding: gzip\r\n\r\n"), HasSubstr("malformed"));
  EXPECT_THAT(fault_of("0\r\nContent-Length: x\r\n\r\n"), HasSubstr("malformed"));
  EXPECT_THAT(fault_of("0\r\nGET / HTTP/1.1\r\n\r\n"), HasSubstr("malformed"));
}

TEST(limit, of_a_chunk_line_is_inclusive) {
  limits bounds;
  bounds.chunk_line_bytes_max = 8;
  EXPECT_EQ(fault_of("1;abcdef\r\nx\r\n0\r\n\r\n", bounds), "");
  EXPECT_THAT(fault_of("1;abcdefg\r\nx\r\n0\r\n\r\n", bounds), HasSubstr("too long"));
  EXPECT_THAT(fault_of("1;abcdefghijklmnop", bounds), HasSubstr("too long"));
}

TEST(limit, of_the_trailers_is_inclusive) {
  limits bounds;
  bounds.trailer_bytes_max = 8;
  EXPECT_EQ(fault_of("0\r\nX: y\r\n\r\n", bounds), "");
  bounds.trailer_bytes_max = 7;
  const auto made = chunks("0\r\nX: y\r\n\r\n", bounds);
  EXPECT_EQ(made.fault_status, 431u);
  EXPECT_EQ(made.fault, "The trailer section is too long.");
  bounds.trailer_bytes_max = 2;
  EXPECT_EQ(fault_of("0\r\n\r\n", bounds), "");
}

TEST(limit, of_the_head_is_inclusive) {
  const std::string_view bytes = "GET / HTTP/1.1\r\nHost: a\r\nX: 12345678\r\n\r\n";
  limits bounds;
  bounds.head_bytes_max = bytes.size();
  EXPECT_EQ(read_requests(bytes, bounds).fault, "");
  bounds.head_bytes_max = bytes.size() - 1;
  const auto made = read_requests(bytes, bounds);
  EXPECT_EQ(made.fault_status, 431u);
  EXPECT_EQ(read({reader::kind::request, bytes, bounds}, bytewise), made);
}

TEST(limit, of_the_head_counts_each_message_by_itself) {
  const std::string_view request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  limits bounds;
  bounds.head_bytes_max = request.size();
  const std::string bytes = "\r\n" + std::string(request) + "\r\n" + std::string(request);
  EXPECT_EQ(read_requests(bytes, bounds).messages.size(), 2u);
}

TEST(limit, of_the_fields_is_inclusive) {
  limits bounds;
  bounds.header_count_max = 2;
  EXPECT_EQ(read_requests("GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n", bounds).fault, "");
  const auto made = read_requests("GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nX: y\r\n\r\n", bounds);
  EXPECT_EQ(made.fault_status, 431u);
  EXPECT_EQ(made.fault, "There are too many header fields.");
}

TEST(limit, of_the_target_is_inclusive) {
  limits bounds;
  bounds.target_bytes_max = 5;
  EXPECT_EQ(read_requests("GET /1234 HTTP/1.1\r\nHost: a\r\n\r\n", bounds).fault, "");
  const auto made = read_requests("GET /12345 HTTP/1.1\r\nHost: a\r\n\r\n", bounds);
  EXPECT_EQ(made.fault_status, 414u);
}

TEST(limit, of_the_head_within_the_request_line_is_one_of_the_target) {
  limits bounds;
  bounds.head_bytes_max = 100;
  EXPECT_EQ(read_requests("GET /" + std::string(200, 'a'), bounds).fault_status, 414u);
  EXPECT_EQ(read_answers("HTTP/1.1 200 " + std::string(200, 'a'), "GET", bounds).fault_status,
            431u);
}

}  // namespace
}  // namespace onceguard::http1::testing
