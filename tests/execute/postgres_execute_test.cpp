// What only PostgreSQL can do to `execute`: broken commits, isolation, durability, rights.
#include <future>

#include "execute/execute_fixture.hpp"
#include "execute/request.hpp"
#include "store/postgres/postgres_store.hpp"
#include "support/run.hpp"
#include "support/tcp_gate.hpp"

namespace onceguard::testing {
namespace {

class postgres_execute : public ::testing::Test {
 protected:
  postgres_execute() { run("CREATE TABLE IF NOT EXISTS charges (who text); TRUNCATE charges"); }

  std::string run(const std::string& statement) { return till_.run(statement); }
  [[nodiscard]] int charges(const std::string& customer) {
    return std::stoi(run(count_of(customer)));
  }
  effect_work charging(libpq_till& till, const std::string& customer) {
    return [&till, customer](const lease&) {
      till.charge(customer);
      return receipt();
    };
  }

  postgres_server& server_ = postgres_server::shared();
  postgres_database database_{server_};
  libpq_till till_{database_.url()};
  const request order_{"ada", "order-1"};
};

TEST_F(postgres_execute, the_commit_is_durable_whatever_the_session_says) {
  const auto seen = [&](const std::string& key) {
    std::string out;
    till_
        .execute({"ada", key}, {},
                 [&](const lease&) {
                   out = run("SHOW synchronous_commit");
                   return receipt();
                 })
        .value();
    return out;
  };
  for (const auto* weak : {"off", "local", "remote_write"}) {
    run(std::string("SET synchronous_commit = ") + weak);
    EXPECT_EQ(seen(weak), "on");
    EXPECT_EQ(run("SHOW synchronous_commit"), weak);
  }
  run("SET synchronous_commit = remote_apply");
  EXPECT_EQ(seen("strong"), "remote_apply");
  run("SET synchronous_commit = off; BEGIN");
  EXPECT_EQ(seen("joined"), "on");
  EXPECT_EQ(run("SHOW synchronous_commit"), "on") << "the caller's own commit, too";
  run("COMMIT");
}

TEST_F(postgres_execute, sql_claims_know_what_was_executed) {
  till_.execute({"ada", "k", "amount=5"}, {}, charging(till_, "ada")).value();
  EXPECT_EQ(run("SELECT verdict || status || convert_from(body, 'UTF8') "
                "FROM onceguard.claim('ada', 'k', 'amount=5')"),
            "replay201paid");
  EXPECT_EQ(run("SELECT verdict FROM onceguard.claim('ada', 'k', 'amount=6')"), "mismatch");
  run("SELECT onceguard.complete(lease, 200, NULL, 'by hand') FROM onceguard.claim('ada', 'j')");
  EXPECT_EQ(till_.execute({"ada", "j"}, {}, charging(till_, "ada"))->answer->body, "by hand");
  EXPECT_EQ(charges("ada"), 1);
}

TEST_F(postgres_execute, what_was_claimed_outside_and_left_is_unknown_and_not_run) {
  run("SELECT onceguard.claim('ada', 'order-1', '', false, '1 millisecond')");
  const auto reply = till_.execute(order_, {}, charging(till_, "ada"));
  ASSERT_TRUE(reply) << reply.error().detail;
  EXPECT_EQ(reply->kind, verdict_kind::unknown);
  EXPECT_EQ(reply->why, unknown_reason::holder_gone);
  EXPECT_EQ(charges("ada"), 0);
}

TEST_F(postgres_execute, what_failed_before_is_backed_off) {
  run("SELECT onceguard.fail(lease, '1 hour', '1 hour') FROM onceguard.claim('ada', 'order-1')");
  const auto reply = till_.execute(order_, {}, charging(till_, "ada"));
  EXPECT_EQ(reply->kind, verdict_kind::backoff);
  EXPECT_GT(reply->retry_after, milliseconds(3'000'000));
}

TEST_F(postgres_execute, a_statement_that_failed_unnoticed_is_an_error_and_leaves_nothing) {
  const auto reply = till_.execute(order_, {}, [&](const lease&) {
    till_.charge("ada");
    PQclear(PQexec(till_.on(), "SELECT 1 / 0"));
    return receipt();
  });
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::conflict);
  EXPECT_EQ(reply.error().effect, effect::none);
  EXPECT_EQ(charges("ada"), 0);
  EXPECT_EQ(till_.execute(order_, {}, charging(till_, "ada"))->kind, verdict_kind::run);
}

TEST_F(postgres_execute, a_commit_that_is_refused_leaves_nothing) {
  run("DROP TABLE IF EXISTS unique_charges; CREATE TABLE unique_charges ("
      "who text UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO unique_charges VALUES ('ada')");
  const auto reply = till_.execute(order_, {}, [&](const lease&) {
    till_.charge("ada");
    run("INSERT INTO unique_charges VALUES ('ada')");
    return receipt();
  });
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::conflict);
  EXPECT_EQ(reply.error().effect, effect::none);
  EXPECT_EQ(charges("ada"), 0);
  EXPECT_EQ(till_.execute(order_, {}, charging(till_, "ada"))->kind, verdict_kind::run);
}

TEST_F(postgres_execute, work_that_ends_its_transaction_is_a_mistake_that_is_reported) {
  const auto ends_it = [&](const lease&) {
    run("ROLLBACK");
    return receipt();
  };
  EXPECT_THROW(static_cast<void>(till_.execute(order_, {}, ends_it)), std::logic_error);
  const auto begins_another = [&](const lease&) {
    run("ROLLBACK; BEGIN");
    till_.charge("ada");
    return receipt();
  };
  EXPECT_FALSE(till_.execute(order_, {}, begins_another)) << "its claim is gone";
  EXPECT_EQ(charges("ada"), 0);
}

TEST_F(postgres_execute, a_connection_that_is_not_ready_is_refused) {
  run("BEGIN");
  EXPECT_THROW(run("SELECT 1 / 0"), postgres::statement_failed);
  EXPECT_EQ(till_.execute(order_, {}, charging(till_, "ada")).error().code, errc::conflict);
  run("ROLLBACK");
  ASSERT_EQ(PQenterPipelineMode(till_.on()), 1);
  EXPECT_EQ(till_.execute(order_, {}, charging(till_, "ada")).error().code, errc::conflict);
  ASSERT_EQ(PQexitPipelineMode(till_.on()), 1);
  EXPECT_EQ(till_.execute(order_, {}, charging(till_, "ada"))->kind, verdict_kind::run);
}

TEST_F(postgres_execute, a_database_without_the_schema_is_reported_so) {
  libpq_till elsewhere(server_.url());
  const auto reply = elsewhere.execute(order_, {}, charging(elsewhere, "ada"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::invalid_argument);
  EXPECT_NE(reply.error().detail.find("onceguard migrate"), std::string::npos);
}

TEST_F(postgres_execute, a_record_that_cannot_be_read_is_never_taken_for_absent) {
  till_.execute(order_, {}, charging(till_, "ada")).value();
  run("UPDATE onceguard.records SET outcome = outcome || 'forged'");
  const auto reply = till_.execute(order_, {}, charging(till_, "ada"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::record_unreadable);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_F(postgres_execute, a_role_that_owns_nothing_may_execute) {
  run("DO $$ BEGIN CREATE ROLE till LOGIN IN ROLE onceguard_app; "
      "EXCEPTION WHEN duplicate_object THEN NULL; END $$; GRANT INSERT ON charges TO till");
  libpq_till till(server_.url("onceguard", "till"));
  EXPECT_EQ(till.execute(order_, {}, charging(till, "ada"))->kind, verdict_kind::run);
  EXPECT_EQ(till.execute(order_, {}, charging(till, "ada"))->kind, verdict_kind::replay);
  const auto stepped = till.execute_steps({"ada", "steps"}, {}, [&](steps& flow) {
    flow.step("pay", [&] {
      till.charge("ada");
      return std::string();
    });
    return receipt();
  });
  EXPECT_TRUE(stepped) << stepped.error().detail;
  EXPECT_THROW(till.run("SELECT * FROM onceguard.records"), postgres::statement_failed);
  EXPECT_EQ(charges("ada"), 2);
}

// --- serialization failures -----------------------------------------------------------------

/// Fails as another transaction's victim, the first `times` times.
effect_work victim(libpq_till& till, int times, int& runs) {
  return [&till, times, &runs](const lease&) {
    till.charge("ada");
    if (++runs <= times) {
      till.run("DO $$ BEGIN RAISE 'in the way' USING ERRCODE = '40001'; END $$");
    }
    return receipt();
  };
}

TEST_F(postgres_execute, a_serialization_failure_is_reported_as_an_error_with_no_effect) {
  int runs = 0;
  const auto reply = till_.execute(order_, {}, victim(till_, 1, runs));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::write_conflict);
  EXPECT_EQ(reply.error().effect, effect::none);
  EXPECT_EQ(charges("ada"), 0);
  EXPECT_EQ(till_.execute(order_, {}, victim(till_, 1, runs))->kind, verdict_kind::run);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_F(postgres_execute, an_unknown_operation_runs_again_as_often_as_the_policy_says) {
  execute_policy patient;
  patient.conflict_retries = 2;
  int runs = 0;
  EXPECT_EQ(till_.execute(order_, patient, victim(till_, 2, runs))->kind, verdict_kind::run);
  EXPECT_EQ(runs, 3);
  runs = 0;
  EXPECT_FALSE(till_.execute({"ada", "order-2"}, patient, victim(till_, 3, runs)));
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_F(postgres_execute, a_step_in_conflict_runs_again_as_often_as_the_policy_says) {
  execute_policy patient;
  patient.conflict_retries = 2;
  int runs = 0;
  const auto step_of = [&](const effect_work& charge) {
    return [&charge](steps& flow) {
      flow.step("pay", [&] { return charge(flow.held()).body; });
      return receipt();
    };
  };
  const auto twice = victim(till_, 2, runs);
  EXPECT_EQ(till_.execute_steps(order_, patient, step_of(twice))->kind, verdict_kind::run);
  EXPECT_EQ(runs, 3);
  runs = 0;
  const auto thrice = victim(till_, 3, runs);
  EXPECT_FALSE(till_.execute_steps({"ada", "order-2"}, patient, step_of(thrice)));
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_F(postgres_execute, a_serialization_failure_goes_to_the_caller_to_repeat_its_transaction) {
  execute_policy patient;
  patient.conflict_retries = 5;
  int runs = 0;
  run("BEGIN ISOLATION LEVEL SERIALIZABLE");
  EXPECT_EQ(till_.execute(order_, patient, victim(till_, 1, runs)).error().code,
            errc::write_conflict);
  run("ROLLBACK");
  EXPECT_EQ(runs, 1);
}

TEST_F(postgres_execute, write_skew_is_prevented_and_both_take_effect_once) {
  run("DROP TABLE IF EXISTS doctors; CREATE TABLE doctors (name text, on_call boolean);"
      "INSERT INTO doctors VALUES ('ada', true), ('bob', true)");
  execute_policy serial;
  serial.isolation = isolation_level::serializable;
  serial.conflict_retries = 20;
  const auto leave = [&](const std::string& name) {
    libpq_till mine(database_.url());
    return mine.execute({"hospital", "leave-" + name}, serial, [&](const lease&) {
      if (mine.run("SELECT count(*) FROM doctors WHERE on_call") == "1") {
        return receipt("somebody has to stay");
      }
      mine.run("UPDATE doctors SET on_call = false WHERE name = '" + name + "'");
      return receipt("bye");
    });
  };
  auto first = std::async(std::launch::async, leave, "ada");
  auto second = std::async(std::launch::async, leave, "bob");
  const auto reply = {first.get(), second.get()};
  int left = 0;
  for (const auto& one : reply) {
    ASSERT_TRUE(one) << one.error().detail;
    left += one->answer->body == "bye" ? 1 : 0;
  }
  EXPECT_EQ(left, 1);
  EXPECT_EQ(run("SELECT count(*) FROM doctors WHERE on_call"), "1");
}

// --- a connection that breaks ---------------------------------------------------------------

class postgres_execute_cut : public postgres_execute,
                             public ::testing::WithParamInterface<direction> {};

TEST_P(postgres_execute_cut, in_the_commit_at_any_byte_is_unknown_until_the_retry) {
  int unknown = 0;
  int ran_again = 0;
  for (std::uint64_t after = 0; after < 400; after += 13) {
    tcp_gate gate(server_.port());
    const auto owner = std::to_string(after);
    const request request{"ada", "cut-" + owner};
    libpq_till through(postgres_server::url_at(gate.port(), "onceguard"));
    const auto reply = through.execute(request, {}, [&](const lease&) {
      through.charge(owner);
      gate.cut_after(GetParam(), after);
      return receipt();
    });
    if (!reply) {
      EXPECT_EQ(reply.error().code, errc::store_unreachable);
      EXPECT_EQ(reply.error().effect, effect::unknown);
      EXPECT_TRUE(reply.error().retryable());
      ++unknown;
    }
    const auto again = till_.execute(request, {}, charging(till_, owner));
    ASSERT_TRUE(again) << again.error().detail;
    ran_again += again->kind == verdict_kind::run ? 1 : 0;
    EXPECT_EQ(*again->answer, receipt());
    EXPECT_EQ(charges(owner), 1) << "cut after " << after;
  }
  EXPECT_GT(unknown, 0);
  EXPECT_EQ(ran_again > 0, GetParam() == direction::to_server) << "an answer lost, or the question";
}

INSTANTIATE_TEST_SUITE_P(directions, postgres_execute_cut,
                         ::testing::Values(direction::to_server, direction::to_client),
                         [](const auto& test) {
                           return test.param == direction::to_server ? "to_server" : "to_client";
                         });

TEST_F(postgres_execute, a_connection_that_breaks_while_the_work_runs_leaves_nothing) {
  libpq_till other(database_.url());
  const auto reply = other.execute(order_, {}, [&](const lease&) {
    other.charge("ada");
    run("SELECT pg_terminate_backend(" + std::to_string(PQbackendPID(other.on())) + ", 10000)");
    other.charge("ada");
    return receipt();
  });
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::store_unreachable);
  EXPECT_EQ(reply.error().effect, effect::none);
  EXPECT_EQ(other.execute(order_, {}, charging(other, "ada")).error().code,
            errc::store_unreachable);
  EXPECT_EQ(till_.execute(order_, {}, charging(till_, "ada"))->kind, verdict_kind::run);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_F(postgres_execute, steps_that_are_done_are_not_forgotten_by_a_store_that_releases) {
  const auto pay = [&](bool fails) {
    return [&, fails](steps& flow) {
      flow.step("pay", [&] {
        till_.charge("ada");
        return std::string();
      });
      if (fails) throw card_declined();
      return receipt();
    };
  };
  EXPECT_THROW(static_cast<void>(till_.execute_steps(order_, {}, pay(true))), card_declined);
  postgres::postgres_params params;
  params.url = database_.url();
  const auto store = postgres::postgres_store::open(params).value();
  const auto fence = ::onceguard::claim_of(order_, {}, unknown_policy::probe);
  const auto fenced = testing::run(store->claim({fence}, milliseconds(5'000))).front().value();
  ASSERT_TRUE(fenced.lease.probe);
  settlement release;
  release.id = fence.id;
  release.token = fenced.lease.token;
  release.claim_id = fenced.lease.claim_id;
  release.kind = settle_kind::release;
  EXPECT_EQ(testing::run(store->settle({release}, milliseconds(5'000))).front()->outcome,
            settle_outcome::done);
  EXPECT_EQ(till_.execute_steps(order_, {}, pay(false))->kind, verdict_kind::run);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_F(postgres_execute, steps_go_on_with_another_connection_once_the_lease_is_over) {
  execute_policy hasty;
  hasty.lease = milliseconds(1);
  const auto two_steps = [&](libpq_till& till, bool breaks) {
    return [&till, breaks, this](steps& flow) {
      flow.step("one", [&] {
        till.charge("one");
        return std::string();
      });
      if (breaks) {
        run("SELECT pg_terminate_backend(" + std::to_string(PQbackendPID(till.on())) + ", 10000)");
      }
      flow.step("two", [&] {
        till.charge("two");
        return std::string();
      });
      return receipt();
    };
  };
  libpq_till dying(database_.url());
  const auto reply = dying.execute_steps(order_, hasty, two_steps(dying, true));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().effect, effect::unknown);
  const auto again = till_.execute_steps(order_, {}, two_steps(till_, false));
  ASSERT_TRUE(again) << again.error().detail;
  EXPECT_EQ(again->kind, verdict_kind::run);
  EXPECT_EQ(charges("one"), 1);
  EXPECT_EQ(charges("two"), 1);
}

}  // namespace
}  // namespace onceguard::testing
