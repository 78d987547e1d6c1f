// Every hole through which two parsers could come to read different messages is closed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http1/reading.hpp"
#include "http1/refused_requests.hpp"

namespace onceguard::http1::testing {
namespace {

class refused : public ::testing::TestWithParam<refused_request> {};

TEST_P(refused, with_its_status_and_a_sentence) {
  const auto made = read_requests(GetParam().bytes);
  EXPECT_EQ(made.fault_status, GetParam().status) << made.fault;
  EXPECT_THAT(made.fault, ::testing::HasSubstr(std::string(GetParam().fault)));
  EXPECT_THAT(made.fault, ::testing::EndsWith("."));
  EXPECT_TRUE(made.messages.empty());
}

TEST_P(refused, byte_by_byte_just_the_same) {
  const input input{reader::kind::request, GetParam().bytes};
  EXPECT_EQ(read(input, bytewise), read(input));
}

/// Whatever is wrong with a second request, the first one is still answered.
TEST_P(refused, behind_a_good_request_too) {
  std::string bytes = "GET /first HTTP/1.1\r\nHost: a\r\n\r\n";
  bytes += GetParam().bytes;
  const auto made = read_requests(bytes);
  ASSERT_EQ(made.messages.size(), 1u);
  EXPECT_EQ(made.messages[0].target, "/first");
  EXPECT_EQ(made.fault_status, GetParam().status);
}

INSTANTIATE_TEST_SUITE_P(request, refused, ::testing::ValuesIn(refused_requests),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(refusal, comes_as_soon_as_the_bytes_show_it) {
  reader r(reader::kind::request, {});
  const std::string_view bytes = "GET / HTTP/1.1\n";
  std::memcpy(r.prepare(bytes.size()).data(), bytes.data(), bytes.size());
  r.commit(bytes.size());
  EXPECT_EQ(r.next(), progress::error);
}

TEST(refusal, is_for_ever) {
  reader r(reader::kind::request, {});
  const std::string_view bytes = "GET / HTTP/3.0\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
  std::memcpy(r.prepare(bytes.size()).data(), bytes.data(), bytes.size());
  r.commit(bytes.size());
  EXPECT_EQ(r.next(), progress::error);
  r.reset();
  EXPECT_EQ(r.next(), progress::error);
  EXPECT_EQ(r.end_of_input(), progress::error);
  EXPECT_EQ(r.fault().status, 505);
}

TEST(refusal, meets_a_reset_in_the_middle_of_a_message) {
  reader r(reader::kind::request, {});
  const std::string_view bytes = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nGET";
  std::memcpy(r.prepare(bytes.size()).data(), bytes.data(), bytes.size());
  r.commit(bytes.size());
  ASSERT_EQ(r.next(), progress::head);
  r.reset();
  EXPECT_EQ(r.next(), progress::error);
}

TEST(refusal, meets_a_truncated_message) {
  for (const std::string_view bytes :
       {"G", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"}) {
    EXPECT_THAT(read_requests(bytes).fault, ::testing::HasSubstr("ended")) << bytes;
  }
}

}  // namespace
}  // namespace onceguard::http1::testing
