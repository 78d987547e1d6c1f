// What a route keeps of an answer, where that is not all.
#include "http/kept_parts.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/ascii.hpp"
#include "http/outcome_in_answer.hpp"
#include "support/packed.hpp"

namespace onceguard::http {
namespace {

constexpr std::string_view paid = R"({"id":"p1","card":{"number":"4111"}})";

answer made(std::string_view body = paid) {
  answer out;
  out.status = 201;
  out.headers = {{"Content-Type", "application/json"},
                 {"Location", "/payments/p1"},
                 {"X-Token", "secret"},
                 {"ETag", "\"1\""},
                 {"Repr-Digest", "sha-256=:x:"},
                 {"Signature-Input", "sig=()"},
                 {"Signature", "sig=:x:"}};
  out.body = body;
  return out;
}

std::string names(const answer& kept) {
  std::string out;
  for (const auto& [name, value] : kept.headers) out += (out.empty() ? "" : " ") + name;
  return out;
}

route_policy redacting(std::vector<std::string> pointers, std::vector<std::string> headers = {}) {
  route_policy out;
  out.redact = {std::move(pointers), std::move(headers)};
  return out;
}

TEST(kept_parts, of_a_route_without_such_rules_are_all) {
  auto kept = made("not JSON");
  EXPECT_EQ(keep_parts({}, kept), "");
  EXPECT_EQ(kept, made("not JSON"));
  EXPECT_FALSE(keeps_parts({}));
  EXPECT_FALSE(reads_answers({}));
}

TEST(kept_parts, that_are_redacted_are_marked_and_nothing_speaks_of_the_bytes_before) {
  const auto policy = redacting({"/card/number"});
  auto kept = made();
  EXPECT_EQ(keep_parts(policy, kept), "");
  EXPECT_EQ(kept.body, R"({"id":"p1","card":{"number":"[redacted]"}})");
  EXPECT_EQ(names(kept), "Content-Type Location X-Token Onceguard-Redacted");
  EXPECT_TRUE(reads_answers(policy)) << "so that the service is asked for an answer without coding";
}

TEST(kept_parts, of_an_answer_without_the_value_are_the_answer_as_it_is) {
  auto kept = made(R"( {"id" : "p1"} )");
  EXPECT_EQ(keep_parts(redacting({"/card/number"}), kept), "");
  EXPECT_EQ(kept, made(R"( {"id" : "p1"} )"));
  auto empty = made("");
  EXPECT_EQ(keep_parts(redacting({"/card/number"}), empty), "");
  EXPECT_EQ(empty, made(""));
}

TEST(kept_parts, lack_the_headers_that_are_redacted) {
  auto kept = made();
  EXPECT_EQ(keep_parts(redacting({}, {"x-token"}), kept), "");
  EXPECT_EQ(kept.body, paid);
  // The bytes are the same, so what speaks of them is right; a signature may cover the header.
  EXPECT_EQ(names(kept), "Content-Type Location ETag Repr-Digest Onceguard-Redacted");
}

TEST(kept_parts, are_those_that_are_picked) {
  route_policy policy;
  policy.pick = {{"/id"}, {"location"}};
  auto kept = made();
  EXPECT_EQ(keep_parts(policy, kept), "");
  EXPECT_EQ(kept.body, R"({"id":"p1"})");
  EXPECT_EQ(names(kept), "Content-Type Location Onceguard-Redacted");
  policy.pick = {{}, {"x-other"}};
  kept = made();
  EXPECT_EQ(keep_parts(policy, kept), "");
  EXPECT_EQ(kept.body, paid);
  EXPECT_EQ(names(kept), "Content-Type Onceguard-Redacted");
}

TEST(kept_parts, of_a_redirect_say_where_it_leads) {
  auto policy = redacting({}, {"location"});
  policy.pick.headers = {"x-other"};
  auto kept = made();
  kept.status = 307;
  static_cast<void>(keep_parts(policy, kept));
  EXPECT_EQ(names(kept), "Content-Type Location Onceguard-Redacted");
  kept = made();
  static_cast<void>(keep_parts(policy, kept));
  EXPECT_EQ(names(kept), "Content-Type Onceguard-Redacted");
}

TEST(kept_parts, of_a_gzip_body_are_found_in_it) {
  auto kept = made(testing::gzip_of(paid));
  kept.headers.emplace_back("Content-Encoding", "gzip");
  EXPECT_EQ(keep_parts(redacting({"/card"}), kept), "");
  EXPECT_EQ(kept.body, R"({"id":"p1","card":null})");
  EXPECT_EQ(names(kept), "Content-Type Location X-Token Onceguard-Redacted");
}

TEST(kept_parts, of_what_can_not_be_read_are_none_of_its_body) {
  const auto policy = redacting({"/card"});
  for (const std::string_view body : {"<p>4111</p>", R"({"card":1,"card":2})", "4111 4111"}) {
    auto kept = made(body);
    EXPECT_NE(keep_parts(policy, kept), "") << body;
    EXPECT_EQ(kept.body, "");
  }
  auto coded = made("\x8b\x03\x80{}");
  coded.headers.emplace_back("Content-Encoding", "br");
  EXPECT_EQ(keep_parts(policy, coded), "its body has a coding other than gzip");
  EXPECT_EQ(coded.body, "");
  auto bomb = made(testing::gzip_of(std::string(2'000'000, ' ')));
  bomb.headers.emplace_back("Content-Encoding", "gzip");
  EXPECT_EQ(keep_parts(policy, bomb), "its body is unpacked longer than max_answer_body");
  EXPECT_EQ(bomb.body, "");
}

settle_terms settled(const answer& kept) {
  settle_terms out;
  out.answer = std::make_shared<answer>(kept);
  keep_parts_of(redacting({"/card"}, {"x-token"}), "/pay", out);
  return out;
}

TEST(kept_parts, of_a_settle_leave_the_first_caller_s_answer_alone) {
  const auto whole = std::make_shared<answer>(made());
  settle_terms terms;
  terms.answer = whole;
  keep_parts_of(redacting({"/card"}), "/pay", terms);
  EXPECT_EQ(*whole, made());
  EXPECT_EQ(terms.answer->body, R"({"id":"p1","card":null})");
  EXPECT_EQ(terms.kept, answer_kept::full);
}

TEST(kept_parts, of_an_answer_that_can_not_be_read_are_none) {
  const auto none = settled(made("4111 4111"));
  EXPECT_EQ(none.answer, nullptr);
  EXPECT_EQ(none.kept, answer_kept::none);
  auto moved = made("4111 4111");
  moved.status = 308;
  const auto redirect = settled(moved);
  ASSERT_NE(redirect.answer, nullptr);
  EXPECT_EQ(redirect.kept, answer_kept::status_only);
  EXPECT_EQ(redirect.answer->body, "");
  EXPECT_EQ(names(*redirect.answer).find("X-Token"), std::string::npos);
}

TEST(kept_parts, of_what_an_application_reports_are_the_same) {
  effect_report report{effect_status::done, std::make_shared<answer>(made()), {}};
  keep_parts_of(redacting({"/card"}), "/pay", report);
  EXPECT_EQ(report.answer->body, R"({"id":"p1","card":null})");
  report = {effect_status::done, std::make_shared<answer>(made("4111")), {}};
  keep_parts_of(redacting({"/card"}), "/pay", report);
  ASSERT_NE(report.answer, nullptr) << "a number is JSON, and has nothing to redact";
  report = {effect_status::done, std::make_shared<answer>(made("x")), {}};
  keep_parts_of(redacting({"/card"}), "/pay", report);
  EXPECT_EQ(report.answer, nullptr);
  EXPECT_EQ(report.status, effect_status::done);
}

}  // namespace
}  // namespace onceguard::http
