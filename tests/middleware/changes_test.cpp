// middleware_params::on_change: what a service hears of its requests.
#include <mutex>

#include <gmock/gmock.h>

#include "middleware/middleware_fixture.hpp"
#include "support/waiting.hpp"

namespace onceguard::http {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class middleware_changes : public middleware_fixture {};

TEST_F(middleware_changes, have_route_record_and_attempt) {
  middleware_params params;
  params.routes.front().path = "/payments";
  std::vector<std::string> seen;
  params.on_change = [&](const change& made) {
    seen.push_back(std::string(made.route) + " " + std::to_string(made.record.size()) + " " +
                   std::to_string(made.attempt));
  };
  auto served = middleware::make(records_guard, std::move(params)).value();
  static_cast<void>(served.serve(sent.now(), charge()));
  static_cast<void>(
      served.serve(sent.remove("Idempotency-Key").set("Idempotency_Key", "key-1").now(), charge()));
  EXPECT_THAT(seen, ElementsAre("/payments 12 1", "/payments 12 1", "/payments 0 0"));
}

TEST_F(middleware_changes, of_repeats_that_do_not_run_have_the_problem_as_reason) {
  route_policy policy;
  policy.backoff = 60'000ms;
  auto served = make(with(policy));
  auto begun = served.begin(sent.now());
  static_cast<void>(served.serve(sent.now(), charge()));
  static_cast<void>(std::get<exchange>(begun).fail(std::make_exception_ptr(try_later("x"))));
  static_cast<void>(served.serve(sent.now(), charge()));
  records.advance(60'000ms);
  static_cast<void>(served.serve(sent.now(), charge()));
  sent.body = "another";
  static_cast<void>(served.serve(sent.now(), charge()));
  EXPECT_THAT(changes, ElementsAre("claimed", "busy in-progress", "failed", "backoff backing-off",
                                   "claimed", "completed", "mismatch key-reused"));
}

TEST_F(middleware_changes, of_an_exchange_that_is_dropped_say_so) {
  auto served = make();
  static_cast<void>(served.begin(sent.now()));
  EXPECT_THAT(changes, ElementsAre("claimed", "abandoned abandoned"));
}

TEST_F(middleware_changes, of_a_lease_that_is_lost_come_while_the_handler_runs) {
  route_policy policy;
  policy.lease = 2'000ms;
  policy.unknown = unknown_policy::rerun;
  std::mutex mutex;
  std::vector<std::string> seen;
  auto params = with(policy);
  params.on_change = [&](const change& made) {
    const std::lock_guard lock(mutex);
    seen.push_back(std::string(name_of(made.kind)) + " " + std::to_string(made.attempt));
  };
  auto served = middleware::make(records_guard, std::move(params)).value();
  const auto slow = [&] {
    records.advance(3'000ms);
    static_cast<void>(served.serve(sent.now(), charge()));
    testing::wait_until("the loss of the lease", [&] {
      const std::lock_guard lock(mutex);
      return seen.back() == "lost 1";
    });
    return created("too late");
  };
  EXPECT_EQ(served.serve(sent.now(), slow).body, "run 1");
  EXPECT_THAT(seen, ElementsAre("claimed 1", "claimed 2", "completed 2", "lost 1", "superseded 1"));
}

TEST_F(middleware_changes, of_an_end_that_the_store_does_not_record_are_in_doubt) {
  guard_params impatient;
  impatient.engine.settle_wait = 10ms;
  records_guard = guard::open(records.open(), std::move(impatient)).value();
  auto served = make();
  const auto got = served.serve(sent.now(), [&] {
    records.set_reachable(false);
    return created("first");
  });
  records.set_reachable(true);
  EXPECT_EQ(got.status, 503);
  EXPECT_THAT(changes, ElementsAre("claimed", "in_doubt completed"));
}

TEST_F(middleware_changes, without_the_store_are_unguarded_runs_or_refusals) {
  route_policy policy;
  auto closed = make(with(policy));
  policy.store_failure = store_failure_rule::open;
  auto open = make(with(policy));
  records.set_reachable(false);
  EXPECT_EQ(closed.serve(sent.now(), charge()).status, 503);
  EXPECT_EQ(open.serve(sent.now(), charge()).body, "run 1");
  EXPECT_THAT(changes, ElementsAre("refused store-unreachable", "unguarded"));
}

TEST_F(middleware_changes, of_an_outcome_that_a_probe_finds_out) {
  route_policy policy;
  policy.unknown = unknown_policy::probe;
  auto params = with(policy);
  params.probe = [](const subject&, const lease&) {
    return effect_report{effect_status::done, std::make_shared<answer>(answer{200, {}, "x"}), {}};
  };
  auto served = make(std::move(params));
  EXPECT_EQ(served.serve(sent.now(), [] { return response{500, {}, ""}; }).status, 500);
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "x");
  EXPECT_THAT(changes,
              ElementsAre("claimed", "abandoned upstream_status", "completed probe", "replayed"));
}

TEST_F(middleware_changes, hook_that_throws_changes_nothing) {
  middleware_params params;
  params.on_change = [](const change&) { throw std::runtime_error("hook"); };
  auto served = middleware::make(records_guard, std::move(params)).value();
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 1");
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 1");
}

}  // namespace
}  // namespace onceguard::http
