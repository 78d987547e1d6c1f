// What a query's answer becomes, and how findings are shown.
#include "reconcile/query/query_source.hpp"

#include <gtest/gtest.h>

#include "cli/finding_text.hpp"

namespace onceguard::cli {
namespace {

using postgres::queried;
using postgres::queried_outcome;

constexpr bool absent_is_none = true;

queried_outcome done_with(std::vector<std::pair<std::string, std::string>> headers) {
  auto reply = std::make_shared<answer>();
  reply->status = 201;
  reply->headers = std::move(headers);
  reply->body = "paid";
  return {queried::done, std::move(reply), {}};
}

TEST(query_source, a_row_without_an_answer_says_that_it_did) {
  const auto report = report_of({queried::done, nullptr, {}}, absent_is_none);
  EXPECT_EQ(report.said, probe_answer::did);
  EXPECT_FALSE(report.answer);
}

TEST(query_source, what_is_never_stored_is_left_out) {
  const auto report = report_of(done_with({{"Link", "a"},
                                           {"Link", " b "},
                                           {"Date", "today"},
                                           {"Connection", "close"},
                                           {"Content-Length", "99"},
                                           {"Set-Cookie", "s=1"},
                                           {"Onceguard-Token", "1"}}),
                                absent_is_none);
  ASSERT_EQ(report.said, probe_answer::did);
  const std::vector<std::pair<std::string, std::string>> kept{{"Link", "a"}, {"Link", "b"}};
  EXPECT_EQ(report.answer->headers, kept);
  EXPECT_EQ(report.answer->status, 201);
  EXPECT_EQ(report.answer->body, "paid");
}

TEST(query_source, what_no_answer_can_have_is_not_clear) {
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"X A", "1"}, {"", "1"}, {"X-A", "1\r\nX-B: 2"}, {"X-A", std::string(1, '\0')}}) {
    const auto report = report_of(done_with({{name, value}}), absent_is_none);
    EXPECT_EQ(report.said, probe_answer::unclear) << name;
    EXPECT_FALSE(report.why.empty());
  }
}

TEST(query_source, no_row_means_what_was_configured) {
  const queried_outcome none{queried::no_row, nullptr, {}};
  EXPECT_EQ(report_of(none, absent_is_none).said, probe_answer::did_not);
  EXPECT_EQ(report_of(none, !absent_is_none).said, probe_answer::unclear);
  EXPECT_EQ(report_of({queried::none, nullptr, {}}, !absent_is_none).said, probe_answer::did_not);
}

finding found(finding_kind kind) {
  finding out;
  out.what = kind;
  auto about = std::make_shared<subject>();
  about->key = "order \x1b[31m";
  about->method = "POST";
  about->path = "/charges";
  out.seen.stored.about = std::move(about);
  out.seen.state = observed_state::unknown;
  return out;
}

TEST(finding_text, a_line_says_what_was_decided_and_how) {
  auto one = found(finding_kind::not_done);
  one.means = "query";
  const auto line = finding_line(one);
  EXPECT_TRUE(line.starts_with("not done       unknown")) << line;
  EXPECT_TRUE(line.ends_with("(holder_gone)  by query")) << line;
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
}

TEST(finding_text, a_preview_is_marked) {
  auto one = found(finding_kind::too_early);
  one.preview = true;
  one.means = "query";
  one.why = "soon";
  one.retry_after = milliseconds(61'000);
  const auto line = finding_line(one);
  EXPECT_TRUE(line.starts_with("preview: too early")) << line;
  EXPECT_TRUE(line.ends_with("by query: soon, try again in 61s")) << line;
}

TEST(finding_text, the_summary_leaves_out_what_is_none) {
  reconcile_counts counts;
  EXPECT_EQ(summary(counts, false), "no record is unknown");
  counts.done = 3;
  counts.too_early = 1;
  EXPECT_EQ(summary(counts, false), "3 done, 1 too early");
  EXPECT_EQ(summary(counts, true), "3 done, 1 too early; nothing was changed");
}

}  // namespace
}  // namespace onceguard::cli
