// http::middleware: handlers run once for each idempotency key, and every repeat gets the first
// answer.
#include <map>

#include <gmock/gmock.h>

#include "middleware/middleware_fixture.hpp"
#include "support/waiting.hpp"

namespace onceguard::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using middleware_serve = middleware_fixture;

TEST_F(middleware_serve, repeat_gets_the_first_answer_marked_as_a_replay) {
  auto served = make();
  const auto first = served.serve(sent.now(), charge());
  EXPECT_EQ(first, created("run 1"));
  const auto second = served.serve(sent.now(), charge());
  EXPECT_EQ(second.status, 201);
  EXPECT_EQ(second.body, "run 1");
  EXPECT_EQ(value_of(second, "Location"), "/payments/1");
  EXPECT_EQ(value_of(second, "Idempotent-Replayed"), "true");
  EXPECT_THAT(value_of(second, "Date"), HasSubstr("GMT"));
  EXPECT_EQ(runs, 1);
  EXPECT_THAT(changes, ElementsAre("claimed", "completed", "replayed"));
}

TEST_F(middleware_serve, request_without_a_key_or_of_another_method_passes) {
  auto served = make();
  sent.method = "PUT";
  static_cast<void>(served.serve(sent.now(), charge()));
  static_cast<void>(served.serve(sent.now(), charge()));
  sent.method = "POST";
  sent.remove("Idempotency-Key");
  static_cast<void>(served.serve(sent.now(), charge()));
  EXPECT_EQ(runs, 3);
  EXPECT_THAT(changes, IsEmpty());
}

TEST_F(middleware_serve, required_key_that_is_missing_is_refused) {
  route_policy policy;
  policy.required = true;
  auto served = make(with(policy));
  sent.remove("Idempotency-Key");
  const auto got = served.serve(sent.now(), charge());
  EXPECT_EQ(got.status, 400);
  EXPECT_EQ(value_of(got, "Content-Type"), "application/problem+json");
  EXPECT_THAT(got.body, HasSubstr("urn:onceguard:problem:key-missing"));
  EXPECT_EQ(runs, 0);
  EXPECT_THAT(changes, ElementsAre("refused key-missing"));
}

key_source path_segment(std::size_t number) {
  key_source out;
  out.location = key_location::path;
  out.segment = number;
  return out;
}

key_source content() {
  key_source out;
  out.location = key_location::content;
  return out;
}

TEST_F(middleware_serve, id_in_the_path_may_be_the_key) {
  route_policy policy;
  policy.methods = {"PUT"};
  policy.key = {path_segment(2)};
  auto served = make(with(policy));
  sent.method = "PUT";
  sent.target = "/payments/17";
  sent.remove("Idempotency-Key");
  const auto first = served.serve(sent.now(), charge());
  EXPECT_EQ(served.serve(sent.now(), charge()).body, first.body);
  sent.target = "/payments/18";
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 2");
}

TEST_F(middleware_serve, equal_content_is_one_request_within_the_retention) {
  route_policy policy;
  policy.key = {key_source{}, content()};
  auto served = make(with(policy));
  sent.remove("Idempotency-Key");
  const auto first = served.serve(sent.now(), charge());
  EXPECT_EQ(value_of(served.serve(sent.now(), charge()), "Idempotent-Replayed"), "true");
  sent.body = R"({"amount":21})";
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 2");
}

TEST_F(middleware_serve, sources_of_keys_that_can_not_be_are_refused) {
  const auto refusal = [&](std::vector<key_source> sources, bool observe = false) {
    route_policy policy;
    policy.key = std::move(sources);
    policy.observe = observe;
    const auto made = middleware::make(records_guard, with(policy));
    return made ? std::string() : made.error().detail;
  };
  EXPECT_THAT(refusal({}), HasSubstr("key has no source"));
  EXPECT_THAT(refusal({path_segment(0)}), HasSubstr("count from 1"));
  EXPECT_THAT(refusal({content(), key_source{}}), HasSubstr("must be the last"));
  EXPECT_THAT(refusal({content()}, true), HasSubstr("can't be observed"));
}

TEST_F(middleware_serve, same_key_with_another_body_is_refused) {
  auto served = make();
  static_cast<void>(served.serve(sent.now(), charge()));
  sent.body = R"({"amount":21})";
  EXPECT_EQ(served.serve(sent.now(), charge()).status, 422);
  EXPECT_EQ(runs, 1);
}

TEST_F(middleware_serve, key_never_crosses_credentials) {
  auto served = make();
  static_cast<void>(served.serve(sent.now(), charge()));
  sent.set("Authorization", "Bearer of-bob");
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 2");
}

TEST_F(middleware_serve, anonymous_caller_with_anothers_key_is_refused) {
  auto served = make();
  sent.remove("Authorization").set("Cookie", "session=alice");
  static_cast<void>(served.serve(sent.now(), charge()));
  sent.set("Cookie", "session=bob");
  EXPECT_EQ(served.serve(sent.now(), charge()).status, 422);
  EXPECT_EQ(runs, 1);
}

TEST_F(middleware_serve, scope_function_of_the_service_counts) {
  middleware_params params;
  params.scope = [](const request& arrived) -> std::optional<named_scope> {
    for (const auto& header : arrived.fields) {
      if (header.name == "X-Tenant") return named_scope{"tenant", std::string(header.value)};
    }
    return std::nullopt;
  };
  auto served = make(std::move(params));
  EXPECT_THAT(served.serve(sent.now(), charge()).body, HasSubstr("scope-missing"));
  sent.set("X-Tenant", "a");
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 1");
  sent.set("Authorization", "Bearer refreshed");
  EXPECT_EQ(value_of(served.serve(sent.now(), charge()), "Idempotent-Replayed"), "true");
  sent.set("X-Tenant", "b");
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 2");
}

TEST_F(middleware_serve, kinds_of_scopes_of_the_service_are_never_the_same) {
  middleware_params params;
  std::string kind = "tenant";
  params.scope = [&](const request&) { return named_scope{kind, "7"}; };
  auto served = make(std::move(params));
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 1");
  kind = "user";
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 2");
  EXPECT_EQ(value_of(served.serve(sent.now(), charge()), "Idempotent-Replayed"), "true");
}

TEST_F(middleware_serve, twin_that_runs_answers_409_and_when_to_come_again) {
  auto served = make();
  auto begun = served.begin(sent.now());
  ASSERT_TRUE(std::holds_alternative<exchange>(begun));
  const auto busy = served.serve(sent.now(), charge());
  EXPECT_EQ(busy.status, 409);
  EXPECT_THAT(busy.body, HasSubstr("in-progress"));
  EXPECT_EQ(value_of(busy, "Retry-After"), "1");
  EXPECT_EQ(std::get<exchange>(begun).finish(created("first")), created("first"));
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "first");
  EXPECT_EQ(runs, 0);
}

TEST_F(middleware_serve, answer_of_4xx_frees_the_key) {
  auto served = make();
  const auto refused = [] { return response{402, {}, "no money"}; };
  EXPECT_EQ(served.serve(sent.now(), refused).status, 402);
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 1");
  EXPECT_THAT(changes, ElementsAre("claimed", "released", "claimed", "completed"));
}

TEST_F(middleware_serve, answer_of_500_is_sent_and_leaves_the_outcome_unknown) {
  auto served = make();
  EXPECT_EQ(served.serve(sent.now(), [] { return response{500, {}, "oops"}; }).body, "oops");
  const auto again = served.serve(sent.now(), charge());
  EXPECT_EQ(again.status, 409);
  EXPECT_THAT(again.body, HasSubstr("outcome-unknown"));
  EXPECT_EQ(runs, 0);
  EXPECT_THAT(changes,
              ElementsAre("claimed", "abandoned upstream_status", "unknown outcome-unknown"));
}

TEST_F(middleware_serve, exception_is_rethrown_and_leaves_the_outcome_unknown) {
  auto served = make();
  EXPECT_THROW(static_cast<void>(served.serve(
                   sent.now(), []() -> response { throw std::runtime_error("boom"); })),
               std::runtime_error);
  EXPECT_THAT(served.serve(sent.now(), charge()).body, HasSubstr("outcome-unknown"));
}

TEST_F(middleware_serve, exception_not_done_frees_the_key) {
  auto served = make();
  EXPECT_THROW(
      static_cast<void>(served.serve(sent.now(), []() -> response { throw not_done("no stock"); })),
      not_done);
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 1");
}

TEST_F(middleware_serve, exception_try_later_backs_off) {
  route_policy policy;
  policy.backoff = milliseconds(60'000);
  auto served = make(with(policy));
  EXPECT_THROW(
      static_cast<void>(served.serve(sent.now(), []() -> response { throw try_later("full"); })),
      try_later);
  EXPECT_THAT(served.serve(sent.now(), charge()).body, HasSubstr("backing-off"));
  records.advance(milliseconds(60'000));
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 1");
}

TEST_F(middleware_serve, exchange_of_a_handler_that_threw_has_an_answer) {
  auto served = make();
  auto begun = served.begin(sent.now());
  const auto got = std::get<exchange>(begun).fail(std::make_exception_ptr(not_done("no stock")));
  EXPECT_EQ(got.status, 500);
  EXPECT_THAT(got.body, HasSubstr("Nothing was done"));
}

TEST_F(middleware_serve, exchange_ends_once) {
  auto served = make();
  auto begun = served.begin(sent.now());
  auto& running = std::get<exchange>(begun);
  static_cast<void>(running.finish(created("x")));
  EXPECT_THROW(static_cast<void>(running.finish(created("y"))), std::logic_error);
}

TEST_F(middleware_serve, exchange_that_is_dropped_leaves_the_outcome_unknown) {
  auto served = make();
  { const auto dropped = served.begin(sent.now()); }
  testing::wait_until("the end of the lease", [&] {
    return served.serve(sent.now(), charge()).body.find("outcome-unknown") != std::string::npos;
  });
  EXPECT_EQ(runs, 0);
}

TEST_F(middleware_serve, handler_gets_the_fields_of_its_lease) {
  auto served = make();
  header_list got;
  static_cast<void>(served.serve(sent.now(), [&](exchange& running) {
    got = running.headers();
    EXPECT_TRUE(running.guarded());
    EXPECT_TRUE(running.lease().may_go_on());
    return created("x");
  }));
  std::map<std::string, std::string> fields(got.begin(), got.end());
  EXPECT_EQ(fields["Onceguard-Attempt"], "1");
  EXPECT_EQ(fields["Onceguard-Scope"].size(), 64u);
  EXPECT_THAT(fields["Onceguard-Lease"], HasSubstr("OG1-"));
  EXPECT_EQ(fields.count("Onceguard-Token"), 1u);
}

TEST_F(middleware_serve, probe_that_reports_done_gives_its_answer) {
  middleware_params params;
  params.routes.front().policy.unknown = unknown_policy::probe;
  params.routes.front().policy.upstream_timeout = milliseconds(1);
  int probes = 0;
  params.probe = [&](const subject& about, const lease&) {
    ++probes;
    EXPECT_EQ(about.key, "key-1");
    effect_report out;
    out.status = effect_status::done;
    out.answer = std::make_shared<answer>(created("found"));
    return out;
  };
  auto served = make(std::move(params));
  EXPECT_EQ(served.serve(sent.now(), [] { return response{500, {}, ""}; }).status, 500);
  records.advance(milliseconds(120'000));
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "found");
  EXPECT_EQ(probes, 1);
  EXPECT_EQ(runs, 0);
}

TEST_F(middleware_serve, probe_that_knows_nothing_lets_nothing_run) {
  middleware_params params;
  params.routes.front().policy.unknown = unknown_policy::probe;
  params.routes.front().policy.upstream_timeout = milliseconds(1);
  int probes = 0;
  params.probe = [&](const subject&, const lease&) {
    ++probes;
    return effect_report{};
  };
  auto served = make(std::move(params));
  EXPECT_EQ(served.serve(sent.now(), [] { return response{500, {}, ""}; }).status, 500);
  records.advance(milliseconds(120'000));
  const auto refused = served.serve(sent.now(), charge());
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("urn:onceguard:problem:outcome-unknown"));
  EXPECT_EQ(probes, 1);
  EXPECT_EQ(runs, 0);
}

TEST_F(middleware_serve, path_that_leads_around_a_required_key_is_refused) {
  middleware_params params;
  params.routes.push_back({"", "/payments", {}, {}});
  params.routes.back().policy.required = true;
  auto served = make(std::move(params));
  sent.target = "/%2Fpayments";
  EXPECT_EQ(served.serve(sent.now(), charge()).status, 400);
  EXPECT_EQ(runs, 0);
}

TEST_F(middleware_serve, request_that_no_route_fits_passes) {
  middleware_params params;
  params.routes.front().path = "/payments";
  auto served = make(std::move(params));
  sent.target = "/paymentsx";
  static_cast<void>(served.serve(sent.now(), charge()));
  static_cast<void>(served.serve(sent.now(), charge()));
  EXPECT_EQ(runs, 2);
}

TEST_F(middleware_serve, trusted_proxy_names_the_client_of_an_address_scope) {
  middleware_params params;
  params.routes.front().policy.scope.source = scope_source::address;
  params.trusted_proxies = {"192.0.2.0/24"};
  auto served = make(std::move(params));
  sent.set("X-Forwarded-For", "198.51.100.1");
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 1");
  sent.set("X-Forwarded-For", "198.51.100.2");
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 2");
}

TEST_F(middleware_serve, the_largest_durations_let_a_handler_run_once) {
  route_policy policy;
  for (auto* each : {&policy.lease, &policy.retention, &policy.unknown_retention, &policy.wait,
                     &policy.backoff, &policy.backoff_max, &policy.upstream_timeout}) {
    *each = milliseconds::max();
  }
  policy.on_busy = on_busy_rule::wait;
  auto served = make(with(policy));
  auto other = make(with(policy));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 1");
  EXPECT_EQ(other.serve(sent.now(), charge()).body, "run 1");
  EXPECT_EQ(runs, 1);
}

TEST_F(middleware_serve, wrong_parameters_are_refused_by_name) {
  const auto why = [&](middleware_params params) {
    auto made = middleware::make(records_guard, std::move(params));
    return made ? std::string() : made.error().detail;
  };
  route_policy policy;
  policy.methods = {"GET"};
  EXPECT_THAT(why(with(policy)), HasSubstr("GET can't be guarded"));
  policy = {};
  policy.unknown = unknown_policy::probe;
  EXPECT_THAT(why(with(policy)), HasSubstr("middleware_params::probe"));
  policy = {};
  policy.lease = milliseconds(10);
  EXPECT_THAT(why(with(policy)), HasSubstr("lease"));
  policy = {};
  policy.unknown_retention = milliseconds(-1);
  EXPECT_THAT(why(with(policy)), HasSubstr("unknown_retention is negative"));
  policy = {};
  policy.effect = effect_rule::transactional;
  EXPECT_THAT(why(with(policy)), HasSubstr("effect = transactional needs a PostgreSQL store"));
  middleware_params params;
  params.trusted_proxies = {"nobody"};
  EXPECT_THAT(why(params), HasSubstr("nobody"));
}

}  // namespace
}  // namespace onceguard::http
