// How findings are shown.
#include "cli/stores/finding_text.hpp"

#include <gtest/gtest.h>

namespace onceguard::cli::stores {
namespace {

finding found(finding_kind kind) {
  finding out;
  out.kind = kind;
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
}  // namespace onceguard::cli::stores
