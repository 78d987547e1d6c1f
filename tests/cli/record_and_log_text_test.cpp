// What commands print and log is safe to read by programs and terminals, whatever is in it.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/keys/record_text.hpp"
#include "cli/log/log_lines.hpp"
#include "text/record_json.hpp"

namespace onceguard::cli {
namespace {

using nlohmann::json;

std::string every_byte() {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  return all;
}

bool is_printable_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

TEST(log_json, is_an_object_for_any_bytes) {
  const auto line =
      "{" + log::log_json("an event", {{"key", every_byte()}, {"b", "\"},{\""}}) + "}";
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto read = json::parse(line);
  EXPECT_EQ(read["event"], "an event");
  EXPECT_EQ(read["b"], "\"},{\"");
  EXPECT_EQ(read.size(), 3U);
}

TEST(log_text, is_one_line_for_any_bytes) {
  const auto line = log::log_text("an event", {{"key", every_byte()}, {"b", "plain"}, {"c", ""}});
  EXPECT_TRUE(is_printable_ascii(line)) << line;
  EXPECT_TRUE(line.starts_with("an event key=\"")) << line;
  EXPECT_TRUE(line.ends_with(" b=plain c=\"\"")) << line;
}

record_view hostile_record() {
  auto about = std::make_shared<subject>();
  about->key = every_byte();
  about->scope_kind = "header:x";
  about->method = "POST";
  about->path = "/\x1b[2J\n\xff";
  about->route = "/";
  about->print.method = "exact";
  auto stored_answer = std::make_shared<answer>();
  stored_answer->status = 200;
  stored_answer->headers = {{"X", "\x1b[31m\xc3\xa9"}, {"X", "\xff"}};
  stored_answer->body = "\x1b[2J";
  record_view seen;
  seen.state = observed_state::completed;
  seen.stored.about = std::move(about);
  seen.stored.state = record_state::completed;
  seen.stored.answer = std::move(stored_answer);
  seen.stored.kept = answer_kept::full;
  seen.stored.claimed_at_wall = 1'700'000'000'000;
  return seen;
}

TEST(record_text, does_nothing_to_a_terminal) {
  const auto seen = hostile_record();
  EXPECT_TRUE(is_printable_ascii(keys::record_line(seen))) << keys::record_line(seen);
  EXPECT_EQ(keys::record_page(seen).find('\x1b'), std::string::npos);
}

TEST(record_json, holds_text_as_text_and_bytes_as_base64) {
  auto seen = hostile_record();
  EXPECT_EQ(json::parse(json_line(record_json(seen, true)))["body"], "\x1b[2J");
  auto binary = std::make_shared<answer>(*seen.stored.answer);
  binary->body = "\xff";
  seen.stored.answer = binary;
  const auto read = json::parse(json_line(record_json(seen, true)));
  EXPECT_EQ(read["body_base64"], "/w==");
  EXPECT_FALSE(read.contains("body"));
  EXPECT_EQ(read["headers"].size(), 2U);
  EXPECT_FALSE(record_json(seen, false).contains("headers"));
}

/// A record of each state, with all that JSON shows of it.
record_view record_in(observed_state state) {
  auto seen = hostile_record();
  auto about = std::make_shared<subject>(*seen.stored.about);
  about->key = "order \"1\"";
  about->path = about->route = "/pay";
  about->scope.fill(7);
  about->print.value.fill(9);
  seen.stored.about = std::move(about);
  seen.id.fill(3);
  seen.state = state;
  seen.stored.state = state == observed_state::unknown ? record_state::in_progress
                                                       : static_cast<record_state>(state);
  if (state != observed_state::completed) seen.stored.answer = nullptr;
  if (state == observed_state::unknown) {
    seen.stored.why = unknown_reason::upstream_status;
    seen.stored.why_status = 500;
  }
  seen.stored.attempt = 2;
  seen.stored.token = 1'700'000'000'000'001;
  seen.stored.settled_at_wall = 1'700'000'001'250;
  seen.stored.by_operator = true;
  seen.lease_left = milliseconds(-5);
  seen.retention_left = milliseconds(86'400'000);
  if (seen.stored.answer) seen.body_size = seen.stored.answer->body.size();
  return seen;
}

TEST(record_json, is_read_back) {
  for (std::size_t i = 1; i <= observed_states; ++i) {
    const auto seen = record_in(static_cast<observed_state>(i));
    for (const bool with_body : {true, false}) {
      const auto written = record_json(seen, with_body);
      const auto read = read_record(written);
      ASSERT_TRUE(read) << read.error().detail;
      EXPECT_EQ(record_json(*read, with_body), written);
      EXPECT_EQ(keys::record_line(*read), keys::record_line(seen));
    }
  }
}

TEST(record_json, of_another_form_is_refused) {
  const auto whole = record_json(record_in(observed_state::completed), true);
  for (const auto* name : {"key", "scope", "record", "state", "token", "claimed_at", "kept"}) {
    auto wrong = whole;
    wrong[name] = name == std::string("token") ? nlohmann::ordered_json("x") : "?";
    if (name != std::string("key")) {
      EXPECT_FALSE(read_record(wrong)) << name;
    }
    wrong.erase(name);
    EXPECT_EQ(static_cast<bool>(read_record(wrong)), name == std::string("claimed_at")) << name;
  }
  EXPECT_FALSE(read_record(nlohmann::ordered_json::array()));
}

}  // namespace
}  // namespace onceguard::cli
