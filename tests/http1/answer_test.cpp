// Answers: which have a body and how long it is, and which leave the connection usable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http1/single.hpp"

namespace onceguard::http1::testing {
namespace {

using ::testing::HasSubstr;

message answer_in(std::string_view bytes, std::string_view text = "GET") {
  return single(read_answers(bytes, text), bytes);
}

TEST(answer, has_status_and_reason) {
  EXPECT_EQ(answer_in("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").status, 200u);
  EXPECT_EQ(answer_in("HTTP/1.1 404 Not  \xc3\xa4 Found\r\nContent-Length: 0\r\n\r\n").reason,
            "Not  \xc3\xa4 Found");
  EXPECT_EQ(answer_in("HTTP/1.1 599 \r\nContent-Length: 0\r\n\r\n").reason, "");
  EXPECT_EQ(answer_in("HTTP/1.0 200\r\nContent-Length: 0\r\n\r\n").minor, 0u);
}

TEST(answer, of_each_framing) {
  auto made = answer_in("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_EQ(made.body, "hi");
  EXPECT_TRUE(made.keep_alive);
  made = answer_in("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n");
  EXPECT_EQ(made.body, "hi");
  EXPECT_TRUE(made.keep_alive);
  made = answer_in("HTTP/1.1 200 OK\r\n\r\nuntil the end");
  EXPECT_EQ(made.kind, body_kind::until_eof);
  EXPECT_EQ(made.body, "until the end");
  EXPECT_FALSE(made.keep_alive);
  made = answer_in("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(made.kind, body_kind::until_eof);
  EXPECT_FALSE(made.keep_alive);
}

TEST(answer, without_a_body_by_rule_has_none_whatever_its_fields_say) {
  for (const std::string status : {"204 No Content", "304 Not Modified"}) {
    const auto made = read_answers("HTTP/1.1 " + status +
                                   "\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(made.messages.size(), 2u) << status;
    EXPECT_TRUE(made.messages.at(0).keep_alive);
  }
  const auto made = answer_in("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD");
  EXPECT_EQ(made.kind, body_kind::none);
  EXPECT_EQ(made.content_length, 5u);
  EXPECT_TRUE(made.keep_alive);
  EXPECT_EQ(answer_in("HTTP/1.1 304 X\r\nContent-Length: 5\r\n\r\n").content_length, 5u);
  EXPECT_EQ(answer_in("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n", "HEAD").kind,
            body_kind::none);
  EXPECT_TRUE(answer_in("HTTP/1.1 200 OK\r\n\r\n", "HEAD").keep_alive);
}

TEST(answer, that_announces_a_body_which_it_may_not_have_ends_the_connection) {
  EXPECT_TRUE(answer_in("HTTP/1.1 204 X\r\nContent-Length: 0\r\n\r\n").keep_alive);
  EXPECT_FALSE(answer_in("HTTP/1.1 204 X\r\nContent-Length: 5\r\n\r\n").keep_alive);
  EXPECT_FALSE(answer_in("HTTP/1.1 204 X\r\nTransfer-Encoding: chunked\r\n\r\n").keep_alive);
}

TEST(answer, of_1xx_is_followed_by_the_next) {
  const auto made = read_answers(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
  ASSERT_EQ(made.messages.size(), 3u);
  EXPECT_EQ(made.messages[0].status, 100u);
  EXPECT_TRUE(made.messages[0].keep_alive);
  EXPECT_EQ(made.messages[1].status, 103u);
  EXPECT_EQ(made.messages[2].body, "hi");
}

TEST(answer, of_101_ends_http) {
  const auto made = read_answers(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\ntunnel");
  EXPECT_TRUE(made.messages.at(0).upgrade);
  EXPECT_FALSE(made.messages.at(0).keep_alive);
  EXPECT_EQ(made.rest, "tunnel");
}

TEST(answer, that_merely_offers_another_protocol_stays_http) {
  const auto made = answer_in(
      "HTTP/1.1 426 X\r\nConnection: upgrade\r\nUpgrade: x\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_FALSE(made.upgrade);
  EXPECT_EQ(made.body, "hi");
}

TEST(answer, to_connect_opens_a_tunnel_if_it_is_2xx) {
  auto made = read_answers("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ntunnel", "CONNECT");
  EXPECT_TRUE(made.messages.at(0).upgrade);
  EXPECT_EQ(made.rest, "tunnel");
  made = read_answers("HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nhi", "CONNECT");
  EXPECT_FALSE(made.messages.at(0).upgrade);
  EXPECT_EQ(made.messages.at(0).body, "hi");
}

TEST(answer, to_each_request_in_turn) {
  reader r(reader::kind::answer, {});
  const std::string_view bytes =
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
  std::memcpy(r.prepare(bytes.size()).data(), bytes.data(), bytes.size());
  r.commit(bytes.size());
  r.answers_to("HEAD");
  EXPECT_EQ(r.next(), progress::head);
  EXPECT_EQ(r.next(), progress::end);
  r.reset();
  r.answers_to("GET");
  EXPECT_EQ(r.next(), progress::head);
  EXPECT_EQ(r.next(), progress::body);
  EXPECT_EQ(r.body(), "hi");
  EXPECT_EQ(r.next(), progress::end);
}

struct refused_answer {
  std::string_view name;
  std::string_view bytes;
  std::string_view fault;
};

constexpr refused_answer refused_answers[] = {
    {"length_twice", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "once"},
    {"length_twice_equal", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
     "once"},
    {"length_list", "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n", "decimal"},
    {"length_plus", "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", "decimal"},
    {"length_twice_without_body",
     "HTTP/1.1 304 X\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "once"},
    {"coding_beside_length",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", "beside"},
    {"length_beside_coding",
     "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "beside"},
    {"coding_gzip", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "coding"},
    {"coding_gzip_chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
     "coding"},
    {"coding_identity", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n", "exactly"},
    {"coding_in_1_0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.0"},
    {"bare_lf", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", "line feed"},
    {"bare_cr", "HTTP/1.1 200 O\rK\r\nContent-Length: 0\r\n\r\n", "carriage return"},
    {"nul", "HTTP/1.1 200 O\0K\r\nContent-Length: 0\r\n\r\n"sv, "NUL"},
    {"folded", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n", "folded"},
    {"empty_name", "HTTP/1.1 200 OK\r\n: a\r\nContent-Length: 0\r\n\r\n", "no name"},
    {"space_before_colon", "HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n", "malformed"},
    {"version_0_9", "HTTP/0.9 200 OK\r\n\r\n", "HTTP/1.1"},
    {"version_2_0", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1"},
    {"version_of_rtsp", "RTSP/1.0 200 OK\r\n\r\n", "version"},
    {"version_of_ice", "ICE/1.0 200 OK\r\n\r\n", "version"},
    {"status_of_two_digits", "HTTP/1.1 20 OK\r\n\r\n", "three digits"},
    {"status_of_four_digits", "HTTP/1.1 2000 OK\r\n\r\n", "three digits"},
    {"status_missing", "HTTP/1.1\r\n\r\n", "three digits"},
    {"status_of_letters", "HTTP/1.1 OK\r\n\r\n", "three digits"},
    {"status_signed", "HTTP/1.1 +20 OK\r\n\r\n", "100 to 599"},
    {"status_too_small", "HTTP/1.1 099 OK\r\n\r\n", "100 to 599"},
    {"status_too_large", "HTTP/1.1 600 OK\r\n\r\n", "100 to 599"},
    {"two_spaces", "HTTP/1.1  200 OK\r\n\r\n", "three digits"},
    {"tab_before_status", "HTTP/1.1\t200 OK\r\n\r\n", "version"},
    {"tab_after_status", "HTTP/1.1 200\tOK\r\n\r\n", "three digits"},
    {"empty_line_first", "\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "version"},
    {"a_request", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "version"},
    {"truncated_length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx", "ended"},
    {"truncated_chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
     "ended"},
    {"truncated_head", "HTTP/1.1 200 OK\r\n", "ended"},
};

class refused_in_answer : public ::testing::TestWithParam<refused_answer> {};

TEST_P(refused_in_answer, with_a_sentence_in_any_pieces) {
  const input input{reader::kind::answer, GetParam().bytes};
  const auto made = read(input);
  EXPECT_NE(made.fault_status, 0u);
  EXPECT_THAT(made.fault, HasSubstr(std::string(GetParam().fault)));
  EXPECT_EQ(read(input, bytewise), made);
}

INSTANTIATE_TEST_SUITE_P(answer, refused_in_answer, ::testing::ValuesIn(refused_answers),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace onceguard::http1::testing
