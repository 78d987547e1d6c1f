// The retry policy, by tables and by properties.
#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <onceguard/client.hpp>

namespace onceguard::client {
namespace {

attempt answered(std::uint16_t status, std::string advice = {}, std::string body = {},
                 std::string retry_after = {}) {
  attempt out;
  auto& got = out.answer.emplace();
  got.status = status;
  if (!advice.empty()) got.headers.emplace_back("onceguard-retry", advice);
  if (!retry_after.empty()) got.headers.emplace_back("RETRY-AFTER", " " + retry_after);
  if (!body.empty()) got.headers.emplace_back("Content-Type", "application/problem+json;v=1");
  got.body = std::move(body);
  return out;
}

attempt broken(bool sent, bool permanent = false) {
  attempt out;
  out.fault = "broken";
  out.sent = sent;
  out.permanent = permanent;
  return out;
}

ending end_of(const attempt& made, bool repeatable = true) {
  retry_state state;
  state.repeatable = repeatable;
  return decide_retry({}, made, state).end;
}

TEST(retry_policy, obeys_a_problem_document_only_where_it_is_one) {
  auto made = answered(503);
  made.answer->body = R"({"retryable":false})";
  EXPECT_EQ(end_of(made), ending::none);
}

TEST(retry_policy, knows_a_problem_document_by_its_media_type_in_any_case) {
  for (const char* type : {"application/problem+json", "Application/Problem+JSON; charset=utf-8",
                           "application/problem+json ;v=1", "APPLICATION/PROBLEM+JSON\t; v=1"}) {
    auto made = answered(503);
    made.answer->headers.emplace_back("content-type", type);
    made.answer->body = R"({"retryable":false})";
    EXPECT_EQ(end_of(made), ending::unknown) << type;
  }
}

TEST(retry_policy, sends_without_a_key_again_only_if_nothing_was_sent) {
  EXPECT_EQ(end_of(broken(true)), ending::none);
  EXPECT_EQ(end_of(broken(false)), ending::none);
  EXPECT_EQ(end_of(broken(false), false), ending::none);
  EXPECT_EQ(end_of(broken(true), false), ending::unknown);
  EXPECT_EQ(end_of(broken(true, true), false), ending::unknown);
  EXPECT_EQ(end_of(broken(false, true)), ending::refused);
  EXPECT_EQ(end_of(broken(true, true)), ending::unknown);
}

TEST(retry_policy, takes_a_key_or_an_idempotent_method_for_repeatable) {
  for (const char* method : {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"}) {
    EXPECT_TRUE(is_repeatable({method, "http://a/"})) << method;
  }
  for (const char* method : {"POST", "PATCH", "put", "CONNECT"}) {
    EXPECT_FALSE(is_repeatable({method, "http://a/"})) << method;
    EXPECT_TRUE(is_repeatable({method, "http://a/", {}, {}, "key"})) << method;
  }
}

retry_decision after(const std::string& retry_after, double random = 0,
                     milliseconds elapsed = milliseconds(0)) {
  retry_state state;
  state.repeatable = true;
  state.random = random;
  state.elapsed = elapsed;
  state.wall_ms = 784'111'777'000;  // Sun, 06 Nov 1994 08:49:37 GMT
  return decide_retry({}, answered(503, "", "", retry_after), state);
}

TEST(retry_policy, waits_as_long_as_retry_after_says) {
  const std::pair<const char*, int> rows[] = {
      {"0", 0},
      {"7", 7'000},
      {"Sun, 06 Nov 1994 08:49:47 GMT", 10'000},
      {"Sunday, 06-Nov-94 08:49:47 GMT", 10'000},
      {"Sun Nov  6 08:49:47 1994", 10'000},
      {"Sun, 06 Nov 1994 08:49:07 GMT", 0},
      {"-5", 0},
      {"soon", 0},
      {"Sun, 31 Feb 1994 08:49:47 GMT", 0},
      {"Sun, 06 Nov 1994 8:49:47 GMT", 0},
  };
  for (const auto& [text, wait] : rows) {
    EXPECT_EQ(after(text).end, ending::none) << text;
    EXPECT_EQ(after(text).wait, milliseconds(wait)) << text;
  }
  EXPECT_EQ(after("7", 0.5).wait, milliseconds(7'100)) << "the jitter comes on top";
  EXPECT_EQ(after("7", 0.999, milliseconds(52'900)).wait, milliseconds(7'000));
}

TEST(retry_policy, gives_up_where_retry_after_is_beyond_the_budget) {
  for (const char* text :
       {"60", "3600", "99999999999999999999999", "Mon, 07 Nov 1994 08:49:37 GMT"}) {
    EXPECT_EQ(after(text).end, ending::gave_up) << text;
  }
}

TEST(retry_policy, gives_up_after_the_last_attempt) {
  retry_params params;
  params.attempts = 3;
  retry_state state;
  state.repeatable = true;
  state.attempts = 2;
  EXPECT_EQ(decide_retry(params, broken(true), state).end, ending::none);
  state.attempts = 3;
  EXPECT_EQ(decide_retry(params, broken(true), state).end, ending::gave_up);
}

RC_GTEST_PROP(retry_policy, jitter_stays_below_a_bound_that_doubles, ()) {
  retry_params params;
  params.attempts = 1'000;
  params.budget = milliseconds(1'000'000'000);
  params.first_wait = milliseconds(*rc::gen::inRange(1, 5'000));
  params.longest_wait = milliseconds(*rc::gen::inRange(1, 100'000));
  retry_state state;
  state.repeatable = true;
  state.attempts = *rc::gen::inRange<std::size_t>(1, 999);
  state.random = *rc::gen::inRange(0, 1'000) / 1'000.0;
  const auto next = decide_retry(params, broken(true), state);
  RC_ASSERT(next.end == ending::none);
  auto bound = static_cast<double>(params.first_wait.count());
  for (std::size_t i = 1; i < state.attempts; ++i) bound *= 2;
  bound = std::min(bound, static_cast<double>(params.longest_wait.count()));
  RC_ASSERT(next.wait.count() == static_cast<std::int64_t>(bound * state.random));
}

/// A transport that answers as a test says, and keeps what it was given.
class scripted_transport final : public transport {
 public:
  explicit scripted_transport(std::vector<attempt> all) : script(std::move(all)) {}
  attempt send(const request& sent, milliseconds timeout, const std::stop_token&) override {
    seen.push_back(sent.key);
    timeouts.push_back(timeout);
    return script.at(std::min(seen.size(), script.size()) - 1);
  }
  std::vector<attempt> script;
  std::vector<std::string> seen;
  std::vector<milliseconds> timeouts;
};

RC_GTEST_PROP(retry_policy, the_sum_of_waits_stays_within_budget_and_attempts, ()) {
  retry_params params;
  params.attempts = *rc::gen::inRange<std::size_t>(1, 20);
  params.budget = milliseconds(*rc::gen::inRange(1, 30'000));
  params.first_wait = milliseconds(*rc::gen::inRange(0, 5'000));
  retry_state state;
  state.repeatable = true;
  state.attempts = 0;
  for (;;) {
    ++state.attempts;
    state.elapsed += milliseconds(*rc::gen::inRange(0, 3'000));
    state.random = *rc::gen::inRange(0, 1'000) / 1'000.0;
    const auto seconds = *rc::gen::inRange(0, 10);
    const auto made =
        *rc::gen::arbitrary<bool>() ? broken(true) : answered(503, "", "", std::to_string(seconds));
    const auto next = decide_retry(params, made, state);
    if (next.end != ending::none) {
      RC_ASSERT(next.end == ending::gave_up);
      break;
    }
    state.elapsed += next.wait;
    RC_ASSERT(state.elapsed < params.budget);
    RC_ASSERT(state.attempts < params.attempts);
    RC_ASSERT(next.wait.count() >= 0);
  }
}

RC_GTEST_PROP(sending, never_changes_the_key, ()) {
  const auto failures = *rc::gen::inRange(0, 6);
  std::vector<attempt> script;
  for (int i = 0; i < failures; ++i) {
    script.push_back(*rc::gen::element(broken(true), broken(false), answered(503),
                                       answered(409, "same-key"), answered(429)));
  }
  script.push_back(answered(201));
  scripted_transport transport(script);
  retry_params params;
  params.first_wait = milliseconds(1);
  const request sent{"POST", "http://a/", {}, "body", make_key()};
  const auto got = send(transport, sent, params);
  RC_ASSERT(got.has_value());
  RC_ASSERT(got->end == ending::success);
  RC_ASSERT(got->attempts == script.size());
  RC_ASSERT(transport.seen == std::vector<std::string>(script.size(), sent.key));
}

TEST(sending, gives_an_attempt_no_more_time_than_the_budget_has) {
  scripted_transport transport({answered(200)});
  retry_params params;
  params.budget = milliseconds(500);
  EXPECT_EQ(send(transport, {"GET", "http://a/"}, params)->end, ending::success);
  EXPECT_LE(transport.timeouts.at(0), milliseconds(500));
  EXPECT_GE(transport.timeouts.at(0), milliseconds(1));
}

TEST(sending, ends_when_the_caller_wants_no_more) {
  scripted_transport transport({broken(false)});
  retry_params params;
  params.first_wait = params.longest_wait = milliseconds(600'000);
  params.budget = milliseconds(6'000'000);
  std::stop_source caller;
  const auto got = send(
      transport, {"GET", "http://a/"}, params,
      [&](std::size_t, const attempt&, const retry_decision&) { caller.request_stop(); },
      caller.get_token());
  EXPECT_EQ(got->end, ending::canceled);
  EXPECT_EQ(got->attempts, 1u);
}

TEST(sending, refuses_nothing_after_an_attempt_that_may_have_arrived) {
  for (const auto& first :
       {broken(true), answered(500), answered(503), answered(409, "same-key")}) {
    for (const auto& last : {answered(401), answered(404), answered(422, "new-key"),
                             answered(400, "no"), answered(308), broken(false, true)}) {
      scripted_transport transport({first, broken(false), last});
      retry_params params;
      params.first_wait = milliseconds(1);
      const auto got = send(transport, {"POST", "http://a/", {}, {}, "key"}, params);
      EXPECT_EQ(got->end, ending::unknown);
      EXPECT_TRUE(got->in_doubt);
      EXPECT_EQ(got->attempts, 3u);
    }
  }
}

TEST(sending, knows_that_an_earlier_run_may_have_sent_it) {
  request sent{"POST", "http://a/", {}, {}, "key"};
  for (const bool before : {false, true}) {
    sent.maybe_sent_before = before;
    scripted_transport transport({answered(401)});
    EXPECT_EQ(send(transport, sent)->end, before ? ending::unknown : ending::refused);
  }
}

TEST(sending, is_in_doubt_of_nothing_without_an_effect) {
  scripted_transport transport({broken(true), answered(503), answered(404)});
  retry_params params;
  params.first_wait = milliseconds(1);
  const auto got = send(transport, {"GET", "http://a/"}, params);
  EXPECT_EQ(got->end, ending::refused);
  EXPECT_FALSE(got->in_doubt);
}

constexpr milliseconds retry_params::*durations[] = {
    &retry_params::budget, &retry_params::first_wait, &retry_params::longest_wait,
    &retry_params::attempt_timeout};

TEST(sending, takes_the_largest_durations_for_for_ever) {
  retry_params longest;
  for (const auto member : durations) longest.*member = milliseconds::max();
  std::stop_source caller;
  scripted_transport transport({broken(true)});
  const auto got = send(
      transport, {"GET", "http://a/"}, longest,
      [&](std::size_t, const attempt&, const retry_decision& next) {
        EXPECT_GE(next.wait.count(), 0);
        caller.request_stop();
      },
      caller.get_token());
  EXPECT_EQ(got->end, ending::canceled);
  EXPECT_EQ(got->attempts, 1u);
  EXPECT_GT(transport.timeouts.at(0), milliseconds(std::chrono::hours(24 * 365)));
  retry_state state;
  state.repeatable = true;
  state.random = std::nextafter(1.0, 0.0);
  for (state.attempts = 1; state.attempts < 8; ++state.attempts) {
    for (const auto& made : {broken(true), answered(503, "", "", "99999999999999999999")}) {
      const auto next = decide_retry(longest, made, state);
      EXPECT_EQ(next.end, ending::none);
      EXPECT_GT(next.wait, milliseconds(std::chrono::hours(24 * 300)));
    }
  }
}

TEST(sending, refuses_what_is_no_duration) {
  for (const auto member : durations) {
    for (const auto length : {milliseconds(-1), milliseconds::min()}) {
      retry_params wrong;
      wrong.*member = length;
      scripted_transport transport({answered(200)});
      EXPECT_EQ(send(transport, {"GET", "http://a/"}, wrong).error().code, errc::invalid_argument);
      EXPECT_TRUE(transport.seen.empty());
    }
  }
}

TEST(sending, refuses_what_is_no_request) {
  const request wrong[] = {
      {"PO ST", "http://a/"},
      {"", "http://a/"},
      {"GET", "ftp://a/"},
      {"GET", "/path"},
      {"GET", "http:///path"},
      {"GET", "http://:80/"},
      {"GET", "http://user@a/"},
      {"GET", "http://a/#part"},
      {"GET", "http://a/b c"},
      {"GET", "http://a/\r\nX: y"},
      {"GET", "http://a/", {{"X", "a\r\nY: b"}}},
      {"GET", "http://a/", {{"X y", "a"}}},
      {"GET", "http://a/", {{"content-LENGTH", "1"}}},
      {"GET", "http://a/", {{"Idempotency-key", "k"}}},
      {"POST", "http://a/", {}, {}, "key\n"},
      {"POST", "http://a/", {}, {}, std::string(256, 'k')},
  };
  for (const auto& sent : wrong) {
    scripted_transport transport({answered(200)});
    const auto got = send(transport, sent);
    ASSERT_FALSE(got) << sent.method << " " << sent.url;
    EXPECT_EQ(got.error().code, errc::invalid_argument);
    EXPECT_TRUE(transport.seen.empty());
  }
  EXPECT_TRUE(check({"POST", "https://[::1]:8/?a=b", {{"X", ""}}, {}, std::string(255, 'k')}));
}

}  // namespace
}  // namespace onceguard::client
