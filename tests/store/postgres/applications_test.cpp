// Gateways and applications on one database: what one of them works on is not the other's.
#include <gtest/gtest.h>

#include "store/postgres/fixture.hpp"

namespace onceguard::testing {
namespace {

using postgres_applications_test = postgres_fixture;

TEST_F(postgres_applications_test, a_key_that_an_application_has_locked_is_busy_for_a_gateway) {
  const auto tested = open();
  blocking_store caller(*tested);
  const auto lock =
      "SELECT pg_advisory_xact_lock(onceguard.lock_of(" + sql_digest(claim_of("k").id) + "))";
  sql_session application(database_.url());
  application.run("BEGIN");
  application.run(lock);
  EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::busy);
  EXPECT_EQ(caller.claim(claim_of("other")).kind, verdict_kind::run);
  application.run("ROLLBACK");
  EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::run);
}

}  // namespace
}  // namespace onceguard::testing
