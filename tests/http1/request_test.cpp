// What a good request says: forms of targets, bodies, what becomes of the connection, pipelining.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http1/single.hpp"

namespace onceguard::http1::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

message request_in(std::string_view bytes) { return single(read_requests(bytes), bytes); }

message with_fields(std::string_view fields, std::string_view version = "1.1") {
  return request_in("GET / HTTP/" + std::string(version) + "\r\nHost: a\r\n" + std::string(fields) +
                    "\r\n");
}

TEST(request, has_method_target_and_fields_as_sent) {
  const auto made = request_in(
      "PATCH /a/b?c=d%20e&f=|{}\"^` HTTP/1.1\r\nHost: Example.com:8080\r\nX-Empty:\r\n"
      "x-spaces: \t two  words \t \r\nCookie: a\r\nCookie: b\r\nX-Text: \xc3\xa4\tb\r\n"
      "!#$%&'*+-.^_`|~: :\r\n\r\n");
  EXPECT_EQ(made.method, "PATCH");
  EXPECT_EQ(made.target, "/a/b?c=d%20e&f=|{}\"^`");
  EXPECT_EQ(made.minor, 1u);
  EXPECT_THAT(made.fields,
              ElementsAre(Pair("Host", "Example.com:8080"), Pair("X-Empty", ""),
                          Pair("x-spaces", "two  words"), Pair("Cookie", "a"), Pair("Cookie", "b"),
                          Pair("X-Text", "\xc3\xa4\tb"), Pair("!#$%&'*+-.^_`|~", ":")));
  EXPECT_EQ(made.kind, body_kind::none);
  EXPECT_EQ(made.content_length, std::nullopt);
}

TEST(request, of_each_known_method) {
  for (const std::string method :
       {"GET",        "HEAD",       "POST",        "PUT",    "DELETE",    "OPTIONS",  "TRACE",
        "PATCH",      "COPY",       "LOCK",        "MKCOL",  "MOVE",      "PROPFIND", "PROPPATCH",
        "SEARCH",     "UNLOCK",     "BIND",        "REBIND", "UNBIND",    "ACL",      "REPORT",
        "CHECKOUT",   "MERGE",      "M-SEARCH",    "NOTIFY", "SUBSCRIBE", "PURGE",    "LINK",
        "MKACTIVITY", "MKCALENDAR", "UNSUBSCRIBE", "UNLINK"}) {
    EXPECT_EQ(request_in(method + " / HTTP/1.1\r\nHost: a\r\n\r\n").method, method);
  }
}

TEST(request, may_have_any_well_formed_host) {
  for (const std::string host :
       {"a", "A.b-c_d~e", "127.0.0.1", "a:0", "a:65535", "[::1]", "[::1]:80", "[::ffff:1.2.3.4]"}) {
    EXPECT_EQ(request_in("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n").fields[0].second, host);
  }
  EXPECT_THAT(request_in("GET / HTTP/1.0\r\n\r\n").fields, IsEmpty());
}

TEST(request, may_have_a_target_in_any_form) {
  EXPECT_EQ(request_in("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").target, "*");
  EXPECT_EQ(request_in("GET http://a HTTP/1.1\r\nHost: a\r\n\r\n").target, "http://a");
  EXPECT_EQ(request_in("GET HTTP://A:80/b?c HTTP/1.1\r\nHost: a:80\r\n\r\n").target,
            "HTTP://A:80/b?c");
  EXPECT_EQ(request_in("GET https://a?b/c HTTP/1.1\r\nHost: a\r\n\r\n").target, "https://a?b/c");
  EXPECT_EQ(request_in("GET http://a/ HTTP/1.0\r\n\r\n").target, "http://a/");
  EXPECT_EQ(request_in("GET http://a:80/ HTTP/1.1\r\nHost: a\r\n\r\n").target, "http://a:80/");
  EXPECT_EQ(request_in("GET http://a/ HTTP/1.1\r\nHost: a:\r\n\r\n").target, "http://a/");
  EXPECT_EQ(request_in("GET https://a/ HTTP/1.1\r\nHost: a:443\r\n\r\n").target, "https://a/");
  EXPECT_EQ(request_in("GET / HTTP/1.1\r\nHost: a:\r\n\r\n").target, "/");
  EXPECT_EQ(request_in("GET //a/b HTTP/1.1\r\nHost: c\r\n\r\n").target, "//a/b");
}

TEST(request, keeps_the_connection_alive_as_rfc_9112_has_it) {
  EXPECT_TRUE(with_fields("").keep_alive);
  EXPECT_TRUE(with_fields("Connection: keep-alive\r\n").keep_alive);
  EXPECT_FALSE(with_fields("Connection: close\r\n").keep_alive);
  EXPECT_FALSE(with_fields("Connection: X, Close\r\n").keep_alive);
  EXPECT_FALSE(with_fields("Connection: keep-alive, close\r\n").keep_alive);
  EXPECT_FALSE(with_fields("Connection: x\r\nConnection: ,close\r\n").keep_alive);
  EXPECT_TRUE(with_fields("Connection: closed\r\n").keep_alive);
  EXPECT_FALSE(with_fields("", "1.0").keep_alive);
  EXPECT_TRUE(with_fields("Connection: Keep-Alive\r\n", "1.0").keep_alive);
  EXPECT_FALSE(with_fields("Connection: close, keep-alive\r\n", "1.0").keep_alive);
}

TEST(request, is_read_behind_one_that_said_close) {
  const auto made = read_requests(
      "GET /1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_EQ(made.messages.size(), 2u) << "whether to go on is for the caller to say";
  EXPECT_FALSE(made.messages[0].keep_alive);
}

TEST(request, may_expect_100_continue_in_1_1_only) {
  EXPECT_TRUE(with_fields("Expect: 100-Continue\r\n").expect_continue);
  EXPECT_FALSE(with_fields("Expect: 100-continue\r\n", "1.0").expect_continue);
  EXPECT_FALSE(with_fields("Expect: 101-continue\r\n").expect_continue);
  EXPECT_FALSE(with_fields("").expect_continue);
}

TEST(request, upgrades_with_both_fields_in_1_1_only) {
  EXPECT_TRUE(with_fields("Connection: Upgrade\r\nUpgrade: websocket\r\n").upgrade);
  EXPECT_TRUE(with_fields("Upgrade: websocket\r\nConnection: keep-alive, upgrade\r\n").upgrade);
  EXPECT_FALSE(with_fields("Connection: Upgrade\r\n").upgrade);
  EXPECT_FALSE(with_fields("Upgrade: websocket\r\n").upgrade);
  EXPECT_FALSE(with_fields("Connection: Upgrade\r\nUpgrade: websocket\r\n", "1.0").upgrade);
}

TEST(request, that_upgrades_is_followed_by_the_other_protocol) {
  const std::string fields = "Host: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n";
  auto made = read_requests("GET / HTTP/1.1\r\n" + fields + "\r\n\0\1tunnel"s);
  EXPECT_EQ(made.rest, "\0\1tunnel"s);
  made = read_requests("POST / HTTP/1.1\r\n" + fields + "Content-Length: 2\r\n\r\nhitunnel");
  EXPECT_EQ(made.messages.at(0).body, "hi");
  EXPECT_EQ(made.rest, "tunnel");
  made = read_requests("POST / HTTP/1.1\r\n" + fields +
                       "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\ntunnel");
  EXPECT_EQ(made.messages.at(0).body, "hi");
  EXPECT_EQ(made.rest, "tunnel");
  made = read_requests("CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\ntunnel");
  EXPECT_EQ(made.messages.at(0).target, "[::1]:443");
  EXPECT_TRUE(made.messages.at(0).upgrade);
  EXPECT_EQ(made.rest, "tunnel");
}

TEST(request, may_come_after_one_empty_line) {
  EXPECT_EQ(request_in("\r\nGET /a HTTP/1.1\r\nHost: a\r\n\r\n").target, "/a");
  const auto made = read_requests(
      "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx\r\n"
      "GET /2 HTTP/1.1\r\nHost: a\r\n\r\n\r\n");
  EXPECT_EQ(made.messages.size(), 2u);
  EXPECT_EQ(made.fault, "") << "the last line end is no truncated request";
}

TEST(request, may_be_pipelined) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) {
    bytes += "POST /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n";
    bytes += i % 2 == 0 ? "Content-Length: 5\r\n\r\nhello"
                        : "Transfer-Encoding: Chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
  }
  const auto made = read_requests(bytes);
  EXPECT_EQ(made.fault, "");
  ASSERT_EQ(made.messages.size(), 1000u);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(made.messages[static_cast<std::size_t>(i)].target, "/" + std::to_string(i));
    EXPECT_EQ(made.messages[static_cast<std::size_t>(i)].body, "hello");
  }
}

TEST(request, may_announce_the_largest_length) {
  const auto made =
      read_requests("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\nx");
  ASSERT_EQ(made.messages.size(), 1u);
  EXPECT_EQ(made.messages[0].content_length, 18446744073709551615u);
  EXPECT_EQ(made.messages[0].body, "x");
}

TEST(request, with_a_length_of_zero_has_no_body) {
  const auto made = request_in("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 00\r\n\r\n");
  EXPECT_EQ(made.content_length, 0u);
  EXPECT_EQ(made.kind, body_kind::none);
}

}  // namespace
}  // namespace onceguard::http1::testing
