// Which answers the middleware keeps, sends and replays, also beside limits and a store that fails.
#include <gmock/gmock.h>

#include "middleware/middleware_fixture.hpp"
#include "support/run.hpp"

namespace onceguard::http {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

using middleware_answer = middleware_fixture;

TEST_F(middleware_answer, cookie_and_hop_by_hop_fields_are_sent_and_never_replayed) {
  auto served = make();
  const auto handler = [] {
    return response{200,
                    {{"Set-Cookie", "session=alice"},
                     {"Connection", "X-Once"},
                     {"X-Once", "1"},
                     {"X-Kept", "1"},
                     {"Idempotent-Replayed", "true"}},
                    "x"};
  };
  const auto first = served.serve(sent.now(), handler);
  EXPECT_EQ(value_of(first, "Set-Cookie"), "session=alice");
  EXPECT_EQ(value_of(first, "Idempotent-Replayed"), "");
  const auto second = served.serve(sent.now(), handler);
  EXPECT_EQ(value_of(second, "Set-Cookie"), "");
  EXPECT_EQ(value_of(second, "Connection"), "");
  EXPECT_EQ(value_of(second, "X-Once"), "");
  EXPECT_EQ(value_of(second, "X-Kept"), "1");
}

TEST_F(middleware_answer, handler_has_the_last_word) {
  auto served = make();
  const auto says = [this](std::uint16_t status, const char* word) {
    return [this, status, word] {
      return response{status, {{"Onceguard-Outcome", word}}, "run " + std::to_string(++runs)};
    };
  };
  const auto freed = served.serve(sent.now(), says(500, "none"));
  EXPECT_EQ(freed.body, "run 1");
  EXPECT_EQ(value_of(freed, "Onceguard-Outcome"), "");
  EXPECT_EQ(served.serve(sent.now(), says(404, "done")).body, "run 2");
  const auto again = served.serve(sent.now(), says(200, "none"));
  EXPECT_EQ(again.body, "run 2");
  EXPECT_EQ(again.status, 404);
  EXPECT_EQ(value_of(again, "Onceguard-Outcome"), "");
}

TEST_F(middleware_answer, rules_look_into_its_json) {
  route_policy policy;
  policy.outcome_parts = {{true, "/errors", "", outcome_rule::release}};
  auto served = make(with(policy));
  const auto says = [this](const char* body) {
    return [this, body] {
      ++runs;
      return response{200, {}, body};
    };
  };
  static_cast<void>(served.serve(sent.now(), says(R"({"errors":[1]})")));
  EXPECT_EQ(served.serve(sent.now(), says("{}")).body, "{}");
  EXPECT_EQ(served.serve(sent.now(), says("{}")).body, "{}");
  EXPECT_EQ(runs, 2);
}

TEST_F(middleware_answer, answer_over_the_limit_is_sent_and_not_kept) {
  route_policy policy;
  policy.max_answer_body = 4;
  auto served = make(with(policy));
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 1");
  EXPECT_THAT(served.serve(sent.now(), charge()).body, HasSubstr("answer-not-kept"));
  EXPECT_EQ(runs, 1);
}

TEST_F(middleware_answer, answer_of_exactly_the_limit_is_kept) {
  route_policy policy;
  policy.max_answer_body = std::string_view("run 1").size();
  auto served = make(with(policy));
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 1");
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 1");
}

TEST_F(middleware_answer, stream_of_events_is_sent_and_not_kept) {
  auto served = make();
  const auto handler = [] {
    return response{200, {{"Content-Type", "Text/Event-Stream; charset=utf-8"}}, "data: 1\n\n"};
  };
  EXPECT_EQ(served.serve(sent.now(), handler).body, "data: 1\n\n");
  EXPECT_THAT(served.serve(sent.now(), handler).body, HasSubstr("answer-not-kept"));
}

TEST_F(middleware_answer, stream_is_settled_before_it_is_sent_and_not_kept) {
  auto served = make();
  auto begun = served.begin(sent.now());
  EXPECT_EQ(std::get<exchange>(begun).finish(answer_view{200, {}, {}}), std::nullopt);
  EXPECT_THAT(served.serve(sent.now(), charge()).body, HasSubstr("answer-not-kept"));
}

TEST_F(middleware_answer, status_only_keeps_no_body) {
  route_policy policy;
  policy.keep_body = false;
  auto served = make(with(policy));
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 1");
  const auto second = served.serve(sent.now(), charge());
  EXPECT_EQ(second.status, 201);
  EXPECT_EQ(second.body, "");
  EXPECT_EQ(value_of(second, "Idempotent-Replayed"), "true");
}

TEST_F(middleware_answer, status_only_is_what_the_record_says_of_it) {
  route_policy policy;
  policy.keep_body = false;
  auto served = make(with(policy));
  static_cast<void>(served.serve(sent.now(), charge()));
  const auto id = make_record_id(make_scope_digest("credential", "Bearer of-alice"), "key-1");
  const auto opened = records.open();
  const auto seen = testing::run(opened->find(id, milliseconds(1'000)));
  ASSERT_TRUE(seen && *seen);
  EXPECT_EQ((*seen)->stored.kept, answer_kept::status_only);
}

TEST_F(middleware_answer, is_redacted_for_repeats_only) {
  route_policy policy;
  policy.redact = {{"/card"}, {"x-session"}};
  auto served = make(with(policy));
  const auto handler = [] {
    return response{201, {{"X-Session", "secret"}, {"X-Kept", "1"}}, R"({"id":1,"card":"4111"})"};
  };
  const auto first = served.serve(sent.now(), handler);
  EXPECT_EQ(first.body, R"({"id":1,"card":"4111"})");
  EXPECT_EQ(value_of(first, "X-Session"), "secret");
  const auto second = served.serve(sent.now(), handler);
  EXPECT_EQ(second.body, R"({"id":1,"card":"[redacted]"})");
  EXPECT_EQ(value_of(second, "X-Session"), "");
  EXPECT_EQ(value_of(second, "X-Kept"), "1");
  EXPECT_EQ(value_of(second, "Onceguard-Redacted"), "true");
}

TEST_F(middleware_answer, has_parts_that_can_be_named) {
  const auto fault = [&](answer_parts parts) {
    route_policy policy;
    policy.redact = std::move(parts);
    const auto made = middleware::make(records_guard, with(policy));
    return made ? std::string() : made.error().detail;
  };
  EXPECT_EQ(fault({{"/card", "/a/*"}, {"x-session"}}), "");
  for (const auto* wrong : {"card", "", "/a~2", "/a~"}) {
    EXPECT_THAT(fault({{wrong}, {}}), HasSubstr("no JSON Pointer")) << wrong;
  }
  EXPECT_THAT(fault({{}, {"X-Session"}}), HasSubstr("not in lower case"));
}

TEST_F(middleware_answer, that_can_not_be_redacted_is_not_kept) {
  route_policy policy;
  policy.redact.pointers = {"/card"};
  auto served = make(with(policy));
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 1");
  const auto second = served.serve(sent.now(), charge());
  EXPECT_EQ(second.status, 409);
  EXPECT_THAT(second.body, HasSubstr("answer-not-kept"));
}

TEST_F(middleware_answer, what_no_message_can_carry_does_not_keep_repeats_from_the_answer) {
  auto served = make();
  const auto handler = [] {
    return response{204, {{"Location", "/a\r\nX-Bad: 1"}, {"bad name", "1"}, {"X-Kept", "1"}}, "x"};
  };
  EXPECT_EQ(served.serve(sent.now(), handler).status, 204);
  const auto second = served.serve(sent.now(), handler);
  EXPECT_EQ(second.status, 204);
  EXPECT_EQ(value_of(second, "Location"), "");
  EXPECT_EQ(value_of(second, "bad name"), "");
  EXPECT_EQ(value_of(second, "X-Kept"), "1");
  EXPECT_EQ(second.body, "");
}

TEST_F(middleware_answer, answer_without_a_final_status_leaves_the_outcome_unknown) {
  auto served = make();
  static_cast<void>(served.serve(sent.now(), [] { return response{0, {}, "x"}; }));
  EXPECT_THAT(served.serve(sent.now(), charge()).body, HasSubstr("outcome-unknown"));
  EXPECT_EQ(runs, 0);
}

TEST_F(middleware_answer, request_body_over_the_limit_is_refused) {
  route_policy policy;
  policy.max_request_body = sent.body.size();
  auto served = make(with(policy));
  EXPECT_EQ(served.serve(sent.now(), charge()).status, 201);
  sent.body += ' ';
  EXPECT_EQ(served.serve(sent.now(), charge()).status, 413);
}

TEST_F(middleware_answer, store_out_of_reach_is_503_and_nothing_runs) {
  auto served = make();
  records.set_reachable(false);
  const auto got = served.serve(sent.now(), charge());
  EXPECT_EQ(got.status, 503);
  EXPECT_NE(value_of(got, "Retry-After"), "");
  EXPECT_EQ(runs, 0);
}

TEST_F(middleware_answer, store_out_of_reach_lets_requests_pass_where_the_route_says_so) {
  route_policy policy;
  policy.store_failure = store_failure_rule::open;
  auto served = make(with(policy));
  records.set_reachable(false);
  header_list got;
  const auto handler = [&](exchange& running) {
    EXPECT_FALSE(running.guarded());
    got = running.headers();
    return created("x");
  };
  EXPECT_EQ(served.serve(sent.now(), handler).body, "x");
  EXPECT_THAT(got, Contains(std::pair<std::string, std::string>("Onceguard-Unguarded", "store")));
}

TEST_F(middleware_answer, done_effect_that_could_not_be_recorded_is_503) {
  guard_params params;
  params.engine.settle_wait = milliseconds(50);
  auto impatient = guard::open(records.open(), params).value();
  auto served = middleware::make(impatient, {}).value();
  const auto got = served.serve(sent.now(), [&] {
    records.set_reachable(false);
    return created("x");
  });
  EXPECT_EQ(got.status, 503);
  EXPECT_THAT(got.body, HasSubstr("could not be recorded"));
  records.set_reachable(true);
}

}  // namespace
}  // namespace onceguard::http
