// However a connection's bytes are cut into pieces, the same messages and faults come out.
#include <gtest/gtest.h>

#include "http1/reading.hpp"

namespace onceguard::http1::testing {
namespace {

const std::string requests =
    "\r\nPOST /a?b HTTP/1.1\r\nHost: a\r\nX: \t y z \t\r\nContent-Length: 5\r\n\r\nhello"
    "GET /b HTTP/1.0\r\nConnection: keep-alive\r\n\r\n\r\n"
    "PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
    "1\r\nx\r\nb;name=\"a\"\r\n\r\n0\r\n\r\nabcd\r\n0\r\nX-Trailer: y\r\n\r\n"
    "GET /d HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\ntunnel";

const std::string answers =
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    "HTTP/1.1 204\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    "2\r\nhi\r\n00\r\n\r\nHTTP/1.0 500 Oh\r\nX: y\r\n\r\nuntil the end";

void expect_equal_however_split(reader::kind kind, std::string_view bytes) {
  const input input{kind, bytes};
  const auto expected = read(input);
  EXPECT_EQ(read(input, bytewise), expected) << bytes;
  for (std::size_t first = 1; first < bytes.size(); ++first) {
    bool done = false;
    const auto in_two = [&](std::size_t left) { return std::exchange(done, true) ? left : first; };
    EXPECT_EQ(read(input, in_two), expected) << "cut at " << first << " of:\n" << bytes;
  }
  for (std::size_t size = 2; size < 12; ++size) {
    EXPECT_EQ(read(input, [&](std::size_t) { return size; }), expected) << "in pieces of " << size;
  }
}

TEST(split, requests_come_out_equal) {
  ASSERT_EQ(read_requests(requests).messages.size(), 4u);
  ASSERT_EQ(read_requests(requests).rest, "tunnel");
  expect_equal_however_split(reader::kind::request, requests);
}

TEST(split, answers_come_out_equal) {
  ASSERT_EQ(read_answers(answers).messages.size(), 5u);
  ASSERT_EQ(read_answers(answers).fault, "");
  expect_equal_however_split(reader::kind::answer, answers);
}

/// Each byte in turn is replaced by those that upset parsers; nothing may depend on the cut then.
TEST(split, faults_come_out_equal) {
  for (const auto& [kind, bytes] :
       {std::pair{reader::kind::request, requests}, std::pair{reader::kind::answer, answers}}) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      for (const char c : {'\r', '\n', '\0', ' ', '\t', ':', '0', '\x7f', '\xff'}) {
        auto spoilt = bytes;
        spoilt[i] = c;
        const input input{kind, spoilt};
        const auto expected = read(input);
        ASSERT_EQ(read(input, bytewise), expected) << "byte " << i << ":\n" << spoilt;
        const auto in_two = [&](std::size_t left) { return left == spoilt.size() ? i + 1 : left; };
        ASSERT_EQ(read(input, in_two), expected) << "byte " << i << ":\n" << spoilt;
      }
    }
  }
}

TEST(split, truncated_connections_come_out_equal) {
  for (std::size_t size = 0; size < requests.size(); ++size) {
    const input input{reader::kind::request, std::string_view(requests).substr(0, size)};
    EXPECT_EQ(read(input, bytewise), read(input)) << size;
  }
}

TEST(split, a_large_head_and_body_survive_growing_buffers) {
  std::string bytes = "POST /" + std::string(10'000, 'p') + " HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 90; ++i) bytes += "X: " + std::string(500, 'v') + "\r\n";
  bytes += "Content-Length: 300000\r\n\r\n" + std::string(300'000, 'b');
  bytes += "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  const input input{reader::kind::request, bytes};
  const auto expected = read(input);
  ASSERT_EQ(expected.fault, "");
  ASSERT_EQ(expected.messages.size(), 2u);
  EXPECT_EQ(expected.messages[0].body, std::string(300'000, 'b'));
  for (const std::size_t size : {std::size_t{1}, std::size_t{1000}, std::size_t{65'536}}) {
    EXPECT_EQ(read(input, [&](std::size_t) { return size; }), expected) << size;
  }
}

TEST(split, many_tiny_chunks_come_out_equal) {
  std::string bytes = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 100'000; ++i) bytes += "1\r\nx\r\n";
  bytes += "0\r\n\r\n";
  const input input{reader::kind::request, bytes};
  const auto expected = read(input);
  ASSERT_EQ(expected.messages.at(0).body.size(), 100'000u);
  EXPECT_EQ(read(input, bytewise), expected);
}

}  // namespace
}  // namespace onceguard::http1::testing
