// A guard over the engine of another one, as a gateway's decision service has it.
#include <future>

#include <gtest/gtest.h>

#include <onceguard/guard.hpp>

namespace onceguard {
namespace {

using namespace std::chrono_literals;

guard first_guard() {
  auto opened = guard::open("memory:");
  if (!opened) throw std::runtime_error(opened.error().detail);
  return std::move(*opened);
}

guard second_guard(guard& first) {
  return guard::over(first.engine(), first.records(), first.budget(), {});
}

TEST(guard_over_an_engine, shares_its_records) {
  auto first = first_guard();
  auto second = second_guard(first);
  const request order("shop", "order-17", "42 EUR");
  EXPECT_EQ(second.execute(order, [] { return std::string("charged"); })->value, "charged");
  const auto again = first.execute(order, [] { return std::string("twice"); });
  ASSERT_TRUE(again);
  EXPECT_EQ(again->value, "charged");
}

TEST(guard_over_an_engine, leaves_the_engine_running_at_its_end) {
  auto first = first_guard();
  { const auto second = second_guard(first); }
  const request order("shop", "order-17", "42 EUR");
  EXPECT_EQ(first.execute(order, [] { return std::string("charged"); })->value, "charged");
}

TEST(guard_over_an_engine, hears_of_the_end_of_a_twin_at_once) {
  auto first = first_guard();
  auto second = second_guard(first);
  route_policy waits;
  waits.on_busy = on_busy_rule::wait;
  waits.wait = 60s;
  const request order("shop", "order-17", "42 EUR");
  auto claimed = first.claim(order, waits);
  ASSERT_TRUE(claimed.lease);
  auto waiting = std::async(std::launch::async, [&] {
    return second.execute(order, waits, [] { return std::string("twice"); });
  });
  settle_terms terms = terms_of_result(codec<std::string>::encode("charged"), waits);
  static_cast<void>(first.settle(std::move(*claimed.lease), std::move(terms)));
  const auto got = waiting.get();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->value, "charged");
}

}  // namespace
}  // namespace onceguard
