// What a query's answer becomes.
#include "reconcile/query/query_source.hpp"

#include <gtest/gtest.h>

namespace onceguard {
namespace {

effect_report done_with(std::vector<std::pair<std::string, std::string>> headers) {
  auto reply = std::make_shared<answer>();
  reply->status = 201;
  reply->headers = std::move(headers);
  reply->body = "paid";
  return {effect_status::done, std::move(reply), {}};
}

TEST(query_source, a_row_without_an_answer_means_done) {
  const auto report = as_http_has_it({effect_status::done, nullptr, {}});
  EXPECT_EQ(report.status, effect_status::done);
  EXPECT_FALSE(report.answer);
}

TEST(query_source, what_is_never_stored_is_left_out) {
  const auto report = as_http_has_it(done_with({{"Link", "a"},
                                                {"Link", " b "},
                                                {"Date", "today"},
                                                {"Connection", "close"},
                                                {"Content-Length", "99"},
                                                {"Set-Cookie", "s=1"},
                                                {"Onceguard-Token", "1"}}));
  ASSERT_EQ(report.status, effect_status::done);
  const std::vector<std::pair<std::string, std::string>> kept{{"Link", "a"}, {"Link", "b"}};
  EXPECT_EQ(report.answer->headers, kept);
  EXPECT_EQ(report.answer->status, 201);
  EXPECT_EQ(report.answer->body, "paid");
}

TEST(query_source, what_no_answer_can_have_is_not_clear) {
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"X A", "1"}, {"", "1"}, {"X-A", "1\r\nX-B: 2"}, {"X-A", std::string(1, '\0')}}) {
    const auto report = as_http_has_it(done_with({{name, value}}));
    EXPECT_EQ(report.status, effect_status::unknown) << name;
    EXPECT_FALSE(report.why.empty());
  }
}

}  // namespace
}  // namespace onceguard
