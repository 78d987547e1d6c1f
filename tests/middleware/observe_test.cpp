// Routes of a middleware that only observe.
#include <gmock/gmock.h>

#include "middleware/middleware_fixture.hpp"

namespace onceguard::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class middleware_observe : public middleware_fixture {
 protected:
  middleware_observe() { policy_.observe = true; }
  middleware watch() { return make(with(policy_)); }

  route_policy policy_;
};

TEST_F(middleware_observe, every_request_runs_and_is_counted_as_what_it_would_have_got) {
  auto served = watch();
  for (const auto* run : {"run 1", "run 2"}) {
    const auto got = served.serve(sent.now(), charge());
    EXPECT_EQ(got.body, run);
    EXPECT_EQ(value_of(got, "Idempotent-Replayed"), "");
  }
  sent.body = "another";
  EXPECT_EQ(served.serve(sent.now(), charge()).body, "run 3");
  EXPECT_THAT(changes, ElementsAre("observed ran", "observed replayed", "observed mismatch"));
  EXPECT_THAT(served.observed(), HasSubstr(R"("requests":3)"));
  EXPECT_THAT(served.observed(), HasSubstr(R"("repeats_run_again":1)"));
}

TEST_F(middleware_observe, no_record_is_made) {
  static_cast<void>(watch().serve(sent.now(), charge()));
  policy_.observe = false;
  EXPECT_EQ(make(with(policy_)).serve(sent.now(), charge()).body, "run 2");
  EXPECT_EQ(make(with(policy_)).serve(sent.now(), charge()).body, "run 2");
}

TEST_F(middleware_observe, handler_gets_no_lease_and_no_fields) {
  auto served = watch();
  const auto got = served.serve(sent.now(), [](exchange& running) {
    EXPECT_FALSE(running.guarded());
    EXPECT_TRUE(running.headers().empty());
    return created("x");
  });
  EXPECT_EQ(got.status, 201);
}

TEST_F(middleware_observe, what_would_be_refused_passes) {
  policy_.required = true;
  policy_.max_request_body = 4;
  auto served = watch();
  EXPECT_EQ(served.serve(sent.now(), charge()).status, 201);
  EXPECT_EQ(served.serve(sent.remove("Idempotency-Key").now(), charge()).status, 201);
  EXPECT_THAT(changes, ElementsAre("observed refused", "observed refused"));
  EXPECT_THAT(served.observed(), HasSubstr("request-too-large"));
  EXPECT_THAT(served.observed(), HasSubstr("key-missing"));
}

TEST_F(middleware_observe, same_content_without_a_key_is_counted_within_a_scope) {
  auto served = watch();
  sent.remove("Idempotency-Key");
  for (int i = 0; i < 2; ++i) static_cast<void>(served.serve(sent.now(), charge()));
  sent.set("Authorization", "Bearer of-bob");
  static_cast<void>(served.serve(sent.now(), charge()));
  EXPECT_THAT(served.observed(), HasSubstr(R"("contents_without_key":1)"));
}

TEST_F(middleware_observe, scope_function_tells_callers_apart) {
  auto params = with(policy_);
  params.scope = [](const request& arrived) -> std::optional<named_scope> {
    return named_scope{"address", std::string(arrived.client_address)};
  };
  auto served = make(std::move(params));
  for (const auto* address : {"192.0.2.1", "192.0.2.2", "192.0.2.1"}) {
    sent.address = address;
    static_cast<void>(served.serve(sent.now(), charge()));
  }
  EXPECT_THAT(changes, ElementsAre("observed ran", "observed ran", "observed replayed"));
}

TEST_F(middleware_observe, end_of_the_first_one_says_what_a_repeat_would_get) {
  auto served = watch();
  const auto run = [&](auto handler) { static_cast<void>(served.serve(sent.now(), handler)); };
  auto begun = served.begin(sent.now());
  run([] { return created("meanwhile"); });
  EXPECT_EQ(std::get<exchange>(begun).finish(response{402, {}, "no money"}).status, 402);
  EXPECT_THROW(run([]() -> response { throw not_done("x"); }), not_done);
  EXPECT_THROW(run([]() -> response { throw std::range_error("x"); }), std::range_error);
  run([] { return created("again"); });
  { const auto kept = std::move(begun); }
  EXPECT_THAT(changes, ElementsAre("observed busy", "observed ran", "observed ran",
                                   "observed unknown", "observed ran"));
}

TEST_F(middleware_observe, routes_that_guard_say_nothing_of_it) {
  auto served = make();
  static_cast<void>(served.serve(sent.now(), charge()));
  EXPECT_EQ(served.observed(), "");
  EXPECT_THAT(changes, ElementsAre("claimed", "completed"));
}

}  // namespace
}  // namespace onceguard::http
