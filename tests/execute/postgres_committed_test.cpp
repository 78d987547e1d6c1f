// Work of `execute` that commits the transaction that it runs in.
#include <libpq-fe.h>
#include <memory>
#include <thread>

#include "execute/execute_fixture.hpp"

namespace onceguard::testing {
namespace {

class postgres_committed : public ::testing::Test {
 protected:
  postgres_committed() { run("CREATE TABLE IF NOT EXISTS charges (who text); TRUNCATE charges"); }

  std::string run(const std::string& statement) { return till_.run(statement); }
  [[nodiscard]] int charges(const std::string& customer) {
    return std::stoi(run(count_of(customer)));
  }

  postgres_database database_{postgres_server::shared()};
  libpq_till till_{database_.url()};
  const request order_{"ada", "order-1"};
};

TEST_F(postgres_committed, what_the_work_committed_itself_is_never_reported_as_nothing) {
  const auto commits = [&](const char* then) {
    return [&, then](const lease&) {
      till_.charge("ada");
      run("COMMIT; BEGIN");
      run(then);
      return receipt();
    };
  };
  run("BEGIN");  // the caller's own
  auto reply = till_.execute(order_, {}, commits("SELECT 1"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::conflict);
  EXPECT_EQ(reply.error().effect, effect::unknown);
  run("ROLLBACK");
  EXPECT_EQ(charges("ada"), 1);
  EXPECT_EQ(till_.execute(order_, reported_at_once(), [](const lease&) { return receipt(); })->kind,
            verdict_kind::busy);

  run("DROP TABLE IF EXISTS unique_charges; CREATE TABLE unique_charges ("
      "who text UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO unique_charges VALUES ('ada')");
  reply =
      till_.execute({"ada", "order-2"}, {}, commits("INSERT INTO unique_charges VALUES ('ada')"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().effect, effect::unknown);
  EXPECT_EQ(charges("ada"), 2);
}

TEST_F(postgres_committed, work_that_committed_is_not_run_again_after_a_conflict) {
  auto policy = reported_at_once();
  policy.conflict_retries = 3;
  const auto reply = till_.execute(order_, policy, [&](const lease&) {
    till_.charge("ada");
    run("COMMIT; BEGIN");
    run("DO $$ BEGIN RAISE 'busy' USING ERRCODE = '40001'; END $$");
    return receipt();
  });
  EXPECT_EQ(charges("ada"), 1);
  ASSERT_TRUE(reply) << reply.error().detail;
  EXPECT_EQ(reply->kind, verdict_kind::busy);
}

TEST_F(postgres_committed, a_cancellation_that_comes_late_leaves_no_failed_transaction) {
  const std::unique_ptr<PGcancel, decltype(&PQfreeCancel)> cancel(PQgetCancel(till_.on()),
                                                                  PQfreeCancel);
  for (int i = 0; i < 100; ++i) {
    std::thread canceller;
    const auto fails = [&](const lease&) -> answer {
      canceller = std::thread([&] {
        char why[256];
        PQcancel(cancel.get(), why, sizeof why);
      });
      throw card_declined();
    };
    try {
      static_cast<void>(till_.execute({"ada", std::to_string(i)}, {}, fails));
    } catch (const card_declined&) {
      EXPECT_EQ(PQtransactionStatus(till_.on()), PQTRANS_IDLE) << i;
    }
    if (canceller.joinable()) canceller.join();
  }
}

}  // namespace
}  // namespace onceguard::testing
