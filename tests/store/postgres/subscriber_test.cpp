// The PostgreSQL store's subscriber, which is notified of settles by other processes.
#include <gtest/gtest.h>

#include "store/contract/settled_notices.hpp"
#include "store/postgres/fixture.hpp"

namespace onceguard::testing {
namespace {

using postgres_subscriber_test = postgres_fixture;

TEST_F(postgres_subscriber_test, a_broken_subscriber_connection_is_opened_again) {
  const auto one = open();
  const auto other = open();
  settled_notices notices;
  other->on_settled(notices.listener());
  blocking_store caller(*one);
  await_notice(caller, notices, "before");
  database_.admin().run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
      " WHERE application_name = 'onceguard'");
  await_notice(caller, notices, "after");
  other->on_settled(nullptr);
}

}  // namespace
}  // namespace onceguard::testing
