// What a PostgreSQL store hears of the settles of others.
#include <gtest/gtest.h>

#include "store/postgres_fixture.hpp"
#include "store/told_settles.hpp"

namespace onceguard::testing {
namespace {

using postgres_listening_test = postgres_fixture;

TEST_F(postgres_listening_test, after_a_break_it_listens_again) {
  const auto one = open();
  const auto other = open();
  heard ears;
  other->on_settled(ears.listener());
  desk at(*one);
  await_hearing(at, ears, "before");
  database_.admin().run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
      " WHERE application_name = 'onceguard'");
  await_hearing(at, ears, "after");
  other->on_settled(nullptr);
}

}  // namespace
}  // namespace onceguard::testing
