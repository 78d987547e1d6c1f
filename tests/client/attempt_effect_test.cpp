// The table of what attempts say, whole: each row as a first attempt with a key, after an attempt
// in doubt, without a key, and of a method without effect.
#include "client/attempt_effect.hpp"

#include <gtest/gtest.h>

namespace onceguard::client {
namespace {

struct reply {
  std::uint16_t status;
  std::string advice;
  std::string problem;  ///< the end of its type
  std::string retryable;
  std::string retry_after;
};

attempt made_of(const reply& row) {
  attempt out;
  auto& got = out.answer.emplace();
  got.status = row.status;
  if (!row.advice.empty()) got.headers.emplace_back("Onceguard-Retry", row.advice);
  if (!row.retry_after.empty()) got.headers.emplace_back("Retry-After", row.retry_after);
  if (!row.problem.empty() || !row.retryable.empty()) {
    got.headers.emplace_back("Content-Type", "application/problem+json");
    got.body = R"({"type":"urn:onceguard:problem:)" + row.problem + "\"";
    if (!row.retryable.empty()) got.body += R"(,"retryable":)" + row.retryable;
    got.body += "}";
  }
  return out;
}

attempt fault(bool sent, bool permanent) {
  attempt out;
  out.sent = sent;
  out.permanent = permanent;
  return out;
}

struct ends {
  ending keyed;     ///< of a first attempt with a key
  ending in_doubt;  ///< with a key, after an attempt that may have arrived
  ending keyless;   ///< of a first attempt without a key
  ending safe;      ///< of a GET
};

void expect_ends(const attempt& made, const ends& expected, const std::string& row) {
  const auto end_of = [&](bool repeatable, bool safe, bool in_doubt) {
    retry_state state;
    state.repeatable = repeatable;
    state.safe = safe;
    state.in_doubt = in_doubt;
    return decide_retry({}, made, state).end;
  };
  EXPECT_EQ(name_of(end_of(true, false, false)), name_of(expected.keyed)) << row;
  EXPECT_EQ(name_of(end_of(true, false, true)), name_of(expected.in_doubt)) << row << " in doubt";
  EXPECT_EQ(name_of(end_of(false, false, false)), name_of(expected.keyless)) << row << " no key";
  EXPECT_EQ(name_of(end_of(true, true, false)), name_of(expected.safe)) << row << " GET";
}

constexpr auto one_more = ending::none;
constexpr auto success = ending::success;
constexpr auto refused = ending::refused;
constexpr auto unknown = ending::unknown;
constexpr auto done = ending::done;

// What a row comes to.
constexpr ends answers{success, success, success, success};
constexpr ends refuses{refused, unknown, refused, refused};
constexpr ends leaves_open{unknown, unknown, unknown, refused};
constexpr ends passes{one_more, one_more, refused, one_more};
constexpr ends passes_in_doubt{one_more, one_more, unknown, one_more};
constexpr ends carried_out{done, done, done, done};

TEST(attempts, say_by_status_advice_and_problem_what_became_of_the_request) {
  const std::pair<reply, ends> rows[] = {
      {{200, "", "", "", ""}, answers},
      {{201, "no", "", "", ""}, answers},
      {{303, "", "", "", ""}, answers},
      {{307, "", "", "", ""}, refuses},
      {{308, "", "", "", ""}, refuses},
      {{400, "", "", "", ""}, refuses},
      {{400, "no", "key-malformed", "false", ""}, refuses},
      {{401, "", "", "", ""}, refuses},
      {{404, "", "", "", ""}, refuses},
      {{404, "same-key", "", "", ""}, passes},
      {{408, "", "", "", ""}, passes_in_doubt},
      {{408, "", "request-timeout", "true", ""}, passes_in_doubt},
      {{408, "same-key", "request-timeout", "true", ""}, passes},
      {{409, "", "", "", ""}, refuses},
      {{409, "", "", "", "2"}, passes_in_doubt},
      {{409, "", "", "true", ""}, passes},
      {{409, "", "", "false", ""}, refuses},
      {{409, "new-key", "", "", "2"}, refuses},
      {{409, "no", "", "", ""}, leaves_open},
      {{409, "no", "", "", "2"}, leaves_open},
      {{409, "no", "outcome-unknown", "false", ""}, leaves_open},
      {{409, "", "outcome-unknown", "false", ""}, leaves_open},
      {{409, "same-key", "outcome-unknown", "true", "1"}, passes_in_doubt},
      {{409, "same-key", "in-progress", "true", "1"}, passes_in_doubt},
      {{409, "same-key", "", "", ""}, passes_in_doubt},
      {{409, "same-key", "backing-off", "true", "1"}, passes},
      {{409, "no", "answer-not-kept", "false", ""}, carried_out},
      {{409, "", "answer-not-kept", "false", ""}, refuses},
      {{413, "no", "request-too-large", "false", ""}, refuses},
      {{422, "", "", "", ""}, refuses},
      {{422, "new-key", "key-reused", "false", ""}, refuses},
      {{422, "no", "key-reused", "false", ""}, leaves_open},
      {{425, "", "", "", ""}, passes},
      {{429, "", "", "", ""}, passes},
      {{429, "no", "", "", ""}, refuses},
      {{429, "same-key", "quota-exceeded", "true", "1"}, passes},
      {{429, "maybe", "", "", ""}, passes},
      {{500, "", "", "", ""}, passes_in_doubt},
      {{500, "no", "", "", ""}, leaves_open},
      {{500, "no", "record-unreadable", "false", ""}, leaves_open},
      {{501, "", "", "", ""}, leaves_open},
      {{501, "", "bad-request", "false", ""}, leaves_open},
      {{501, "no", "", "", ""}, leaves_open},
      {{501, "no", "bad-request", "false", ""}, refuses},
      {{502, "", "", "", ""}, passes_in_doubt},
      {{502, "", "", "false", ""}, leaves_open},
      {{502, "same-key", "upstream-broken", "true", ""}, passes_in_doubt},
      {{502, "same-key", "upstream-unreachable", "true", ""}, passes},
      {{503, "", "", "", ""}, passes_in_doubt},
      {{503, "", "overloaded", "", ""}, passes_in_doubt},
      {{503, "same-key", "overloaded", "true", ""}, passes},
      {{503, "same-key", "store-unreachable", "true", ""}, passes_in_doubt},
      {{503, "no", "", "", ""}, leaves_open},
      {{503, "", "", "\"no\"", ""}, passes_in_doubt},
      {{504, "", "", "", ""}, passes_in_doubt},
      {{504, "same-key", "upstream-timeout", "true", ""}, passes_in_doubt},
      {{505, "", "", "", ""}, refuses},
      {{508, "no", "loop-detected", "false", ""}, refuses},
      {{599, "", "", "", ""}, passes_in_doubt},
      {{600, "", "", "", ""}, leaves_open},
      {{999, "", "", "", ""}, leaves_open},
  };
  for (const auto& [row, expected] : rows) {
    expect_ends(made_of(row), expected,
                std::to_string(row.status) + " " + row.advice + " " + row.problem + " " +
                    row.retryable + " " + row.retry_after);
  }
}

TEST(attempts, say_by_a_fault_what_became_of_the_request) {
  constexpr ends not_sent{one_more, one_more, one_more, one_more};
  expect_ends(fault(false, false), not_sent, "not sent");
  expect_ends(fault(false, true), refuses, "not sent, for good");
  expect_ends(fault(true, false), passes_in_doubt, "sent");
  expect_ends(fault(true, true), leaves_open, "sent, for good");
}

TEST(attempts, refuse_nothing_after_one_that_may_have_arrived_whatever_comes) {
  retry_state state;
  state.repeatable = state.in_doubt = true;
  for (std::uint16_t status = 200; status < 1'000; ++status) {
    for (const char* advice : {"", "no", "new-key", "same-key", "x"}) {
      for (const char* problem : {"", "key-missing", "key-reused", "overloaded", "other"}) {
        for (const char* retryable : {"", "true", "false"}) {
          for (const char* after : {"", "1"}) {
            const auto made = made_of({status, advice, problem, retryable, after});
            EXPECT_NE(decide_retry({}, made, state).end, ending::refused) << status << advice;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace onceguard::client
