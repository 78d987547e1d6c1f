// What of a replay depends on who asks: a coding that is not accepted, and an origin that may read.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <onceguard/http_sqlite.hpp>

#include "middleware/middleware_fixture.hpp"
#include "support/packed.hpp"
#include "support/run.hpp"

namespace onceguard::http {
namespace {

using middleware_replay_form = middleware_fixture;
using namespace std::chrono_literals;

response packed(const std::string& origin) {
  return {201,
          {{"Content-Encoding", "gzip"}, {"Access-Control-Allow-Origin", origin}},
          std::string(testing::packed_hello)};
}

auto packed_for_a() {
  return [] { return packed("https://a.test"); };
}

void expect_as_stored(const response& got) {
  EXPECT_EQ(got.body, testing::packed_hello);
  EXPECT_EQ(value_of(got, "Content-Encoding"), "gzip");
  EXPECT_EQ(value_of(got, "Access-Control-Allow-Origin"), "https://a.test");
}

void expect_fit_for_others(const response& got) {
  EXPECT_EQ(value_of(got, "Idempotent-Replayed"), "true");
  EXPECT_EQ(got.body, "hello");
  EXPECT_EQ(value_of(got, "Content-Encoding"), "");
  EXPECT_EQ(value_of(got, "Access-Control-Allow-Origin"), "");
}

arriving& ask_as_a(arriving& sent) {
  return sent.set("Accept-Encoding", "gzip").set("Origin", "https://a.test");
}
arriving& ask_as_b(arriving& sent) {
  return sent.set("Accept-Encoding", "br").set("Origin", "https://b.test");
}

TEST_F(middleware_replay_form, out_of_memory_fits_who_asks) {
  auto served = make();
  ask_as_a(sent);
  expect_as_stored(served.serve(sent.now(), packed_for_a()));
  expect_as_stored(served.serve(sent.now(), packed_for_a()));
  expect_fit_for_others(served.serve(ask_as_b(sent).now(), packed_for_a()));
  expect_as_stored(served.serve(ask_as_a(sent).now(), packed_for_a()));
}

TEST_F(middleware_replay_form, out_of_the_store_fits_who_asks) {
  expect_as_stored(make().serve(ask_as_a(sent).now(), packed_for_a()));
  guard_params forgetful;
  forgetful.engine.replay_cache = 0;
  records_guard = guard::open(records.open(), std::move(forgetful)).value();
  auto served = make();
  expect_as_stored(served.serve(sent.now(), packed_for_a()));
  expect_fit_for_others(served.serve(ask_as_b(sent).now(), packed_for_a()));
}

TEST_F(middleware_replay_form, of_an_attempt_that_came_before_fits_who_ran_too_late) {
  route_policy policy;
  policy.lease = 2'000ms;
  policy.unknown = unknown_policy::rerun;
  auto served = make(with(policy));
  const auto slow = [&] {
    records.advance(3'000ms);
    arriving meanwhile = sent;
    expect_as_stored(served.serve(ask_as_a(meanwhile).now(), packed_for_a()));
    return created("too late");
  };
  expect_fit_for_others(served.serve(ask_as_b(sent).now(), slow));
}

TEST_F(middleware_replay_form, under_a_list_of_origins_is_the_service_s_own) {
  route_policy policy;
  policy.cors = {"https://b.test"};
  auto served = make(with(policy));
  static_cast<void>(served.serve(ask_as_a(sent).now(), packed_for_a()));
  const auto got = served.serve(ask_as_b(sent).now(), packed_for_a());
  EXPECT_EQ(got.body, "hello");
  EXPECT_EQ(value_of(got, "Access-Control-Allow-Origin"), "https://a.test");
}

TEST_F(middleware_replay_form, awaited_fits_who_asks) {
  auto served = make();
  // The guard's thread lets go of the context of its caller after the call.
  static boost::asio::io_context contexts[2];
  const auto awaited = [&](boost::asio::io_context& context, arriving& message) {
    return testing::run(context,
                        served.async_serve(message.now(), []() -> boost::asio::awaitable<response> {
                          co_return packed("https://a.test");
                        }));
  };
  expect_as_stored(awaited(contexts[0], ask_as_a(sent)));
  expect_fit_for_others(awaited(contexts[1], ask_as_b(sent)));
}

TEST_F(middleware_replay_form, in_a_transaction_fits_who_asks) {
  const auto served = middleware::make({}).value();
  sqlite3* shop = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &shop), SQLITE_OK);
  expect_as_stored(sqlite::serve(served, shop, ask_as_a(sent).now(), packed_for_a()));
  expect_as_stored(sqlite::serve(served, shop, sent.now(), packed_for_a()));
  expect_fit_for_others(sqlite::serve(served, shop, ask_as_b(sent).now(), packed_for_a()));
  sqlite3_close(shop);
}

}  // namespace
}  // namespace onceguard::http
