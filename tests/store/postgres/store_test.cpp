// Behaviour of the PostgreSQL store alone: databases that it refuses to open, calls that share
// round trips, and calls that do not wait for long transactions of other clients.
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libpq/conninfo.hpp"
#include "store/contract/settled_notices.hpp"
#include "store/postgres/fixture.hpp"
#include "store/postgres/schema.hpp"

namespace onceguard::testing {
namespace {

using postgres::parse_conninfo;
using postgres::postgres_store;
using ::testing::HasSubstr;
using ::testing::Not;

class postgres_store_test : public postgres_fixture {
 protected:
  void expect_refused(const postgres::postgres_params& value, const std::string& why,
                      errc code = errc::store_unreachable) {
    const auto opened = postgres_store::open(value);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, code) << opened.error().detail;
    EXPECT_THAT(opened.error().detail, HasSubstr(why));
  }
  /// Runs the calls of many callers at the same time, all on one thread.
  template <class Outcome, class Begin>
  static std::vector<Outcome> at_once(int callers, Begin begin) {
    boost::asio::io_context context;
    std::vector<Outcome> out;
    for (int i = 0; i < callers; ++i) {
      auto keep = [&out](std::exception_ptr, std::vector<result<Outcome>> items) {
        out.push_back(items.at(0).value());
      };
      boost::asio::co_spawn(context, begin(i), keep);
    }
    context.run();
    return out;
  }
};

TEST_F(postgres_store_test, an_empty_database_stays_empty_and_the_error_names_the_migrate_command) {
  auto parameters = params();
  parameters.url = server_.url("postgres");
  expect_refused(parameters, "onceguard migrate --store");
  EXPECT_EQ(sql_session(parameters.url).value("SELECT to_regnamespace('onceguard') IS NULL"), "t");
}

TEST_F(postgres_store_test, a_newer_or_an_older_schema_is_refused) {
  const auto known = std::to_string(postgres::schema_version);
  database_.admin().run("UPDATE onceguard.meta SET minimum_version = 1000, schema_version = 1001");
  expect_refused(params(),
                 "newer version of onceguard (schema 1001; this version knows " + known + ")",
                 errc::invalid_argument);
  database_.admin().run("UPDATE onceguard.meta SET minimum_version = 0, schema_version = 0");
  expect_refused(params(), "is at 0 and this version needs " + known + "; run: onceguard migrate");
  database_.admin().run("UPDATE onceguard.meta SET schema_version = " + known);
  open()->stop();
}

TEST_F(postgres_store_test, a_missing_database_or_role_is_named_in_the_error) {
  auto value = params();
  value.timeout = milliseconds(1'200);
  // Within that time a busy machine may not get as far as the reason.
  const auto await_reason = [&](const std::string& words) {
    wait_until("the reason", [&] {
      const auto opened = postgres_store::open(value);
      EXPECT_FALSE(opened);
      const auto why = opened ? std::string() : opened.error().detail;
      if (why.find(words) == std::string::npos) throw std::runtime_error(why);
      return true;
    });
  };
  value.url = server_.url("nowhere");
  await_reason("\"nowhere\" does not exist");
  value.url = server_.url("onceguard", "nobody");
  await_reason("\"nobody\" does not exist");
}

TEST_F(postgres_store_test, a_role_without_permission_is_refused_and_the_gateway_role_is_enough) {
  auto value = params();
  database_.admin().run("CREATE ROLE stranger LOGIN");
  value.url = server_.url("onceguard", "stranger");
  expect_refused(value,
                 "permission denied for schema onceguard; an administrator types: GRANT "
                 "onceguard_gateway TO \"stranger\";");
  database_.admin().run("GRANT onceguard_gateway TO stranger");
  {
    const auto tested = open(value);
    blocking_store caller(*tested);
    const auto request = claim_of("k");
    const auto held = caller.leased(request);
    EXPECT_TRUE(caller.extend(extend_of(request, held)));
    EXPECT_EQ(caller.settle(settle_of(request, held)).outcome, settle_outcome::done);
    resolution change;
    change.id = request.id;
    EXPECT_EQ(caller.resolve(change).outcome, resolve_outcome::done);
    EXPECT_EQ(caller.list().records.size(), 1u);
    EXPECT_EQ(caller.counted(observed_state::released), 1u);
    EXPECT_EQ(caller.sweep(), 0u);
  }
  database_.admin().run("DROP ROLE stranger");
}

TEST_F(postgres_store_test, an_absent_server_is_unreachable) {
  auto value = params();
  value.url = url_at(free_port());
  value.timeout = milliseconds(300);
  const auto opened = postgres_store::open(value);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, errc::store_unreachable);
}

TEST_F(postgres_store_test, no_error_about_a_url_repeats_the_password) {
  for (const char* url :
       {"postgresql://u:secret@[::1/db", "postgresql://u:secret@h/db?no_such_option=1",
        "postgresql://u:%zzsecret@h/db", "postgresql://u:secret@h:1,h/db?hostaddr=1.1.1.1"}) {
    const auto parsed = parse_conninfo(url, second);
    ASSERT_FALSE(parsed) << url;
    EXPECT_THAT(parsed.error().detail, Not(HasSubstr("secret")));
  }
  const auto parsed = parse_conninfo("postgresql://u:secret@a:1,b:2/db", second);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->name, "postgresql a:1,b:2/db");
  EXPECT_EQ(parsed->targets.size(), 2u);
  EXPECT_EQ(parsed->targets[1].options.at("port"), "2");
}

TEST_F(postgres_store_test, the_host_that_answers_is_used_out_of_several_hosts) {
  auto value = params();
  value.url = "postgres://postgres@127.0.0.1:" + std::to_string(free_port()) +
              ",127.0.0.1:" + std::to_string(server_.port()) + "/onceguard";
  const auto opened = open(value);
  blocking_store(*opened).completed(claim_of("k"));
  EXPECT_TRUE(opened->traits().transactional);
}

TEST_F(postgres_store_test, the_calls_of_sixty_four_callers_share_few_round_trips) {
  constexpr std::uint64_t few = 16;  // a busy machine collects the calls in more turns
  const auto tested = open();
  std::vector<claim> items;
  for (int i = 0; i < 64; ++i) items.push_back(claim_of("k" + std::to_string(i)));
  const auto name = [](int i) { return static_cast<std::size_t>(i); };
  const auto before = tested->trips();
  const auto reply =
      at_once<verdict>(64, [&](int i) { return tested->claim({items[name(i)]}, patience); });
  EXPECT_LE(tested->trips() - before, few);
  std::map<claim_id, lease> leases;
  for (const auto& each : reply) leases[each.lease.claim_id] = each.lease;
  ASSERT_EQ(leases.size(), 64u);
  const auto between = tested->trips();
  const auto ended = at_once<settled>(64, [&](int i) {
    const auto& mine = items[name(i)];
    return tested->settle({settle_of(mine, leases[mine.claim_id])}, patience);
  });
  EXPECT_LE(tested->trips() - between, few);
  for (const auto& each : ended) EXPECT_EQ(each.outcome, settle_outcome::done);
}

TEST_F(postgres_store_test, many_claims_of_one_key_share_few_round_trips_and_one_runs) {
  const auto tested = open();
  const auto before = tested->trips();
  const auto reply =
      at_once<verdict>(64, [&](int) { return tested->claim({claim_of("k")}, patience); });
  int runs = 0;
  for (const auto& each : reply) {
    runs += each.kind == verdict_kind::run ? 1 : 0;
    EXPECT_TRUE(each.kind == verdict_kind::run || each.kind == verdict_kind::busy);
  }
  EXPECT_EQ(runs, 1);
  EXPECT_LE(tested->trips() - before, 16u);  // who met the first claim reads the record
}

TEST_F(postgres_store_test, a_repeated_claim_gets_its_lease_beside_other_claims_of_the_key) {
  const auto tested = open();
  const auto mine = claim_of("k");
  blocking_store(*tested).leased(mine);
  const auto reply = at_once<verdict>(64, [&](int i) {
    return tested->claim({i % 2 == 0 ? claim_of("k") : repeat_of(mine)}, patience);
  });
  // The replies come in the order in which the calls end.
  const auto of_kind = [&](verdict_kind kind) {
    return std::count_if(reply.begin(), reply.end(),
                         [kind](const verdict& v) { return v.kind == kind; });
  };
  EXPECT_EQ(of_kind(verdict_kind::busy), 32);
  EXPECT_EQ(of_kind(verdict_kind::run), 32);
}

TEST_F(postgres_store_test, a_duplicate_claim_writes_nothing) {
  const auto tested = open();
  blocking_store caller(*tested);
  caller.completed(claim_of("k"));
  const auto next = [&] {
    return std::stoll(database_.admin().value("SELECT pg_snapshot_xmax(pg_current_snapshot())"));
  };
  const auto before = next();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::replay);
  // A transaction that writes takes a transaction id. The server's housekeeping takes some, too.
  EXPECT_LT(next() - before, 50);
}

TEST_F(postgres_store_test, a_record_locked_by_a_long_transaction_does_not_stall_other_records) {
  const auto tested = open();
  blocking_store caller(*tested);
  const auto held = claim_of("held");
  const auto lease_of_held = caller.leased(held);
  const auto other = claim_of("other");
  const auto lease_of_other = caller.leased(other);
  sql_session theirs(database_.url());
  theirs.run("BEGIN; SELECT pg_advisory_xact_lock(onceguard.lock_of(" + sql_digest(held.id) + "))");

  // A claim of a new key under such a lock is busy. A settle waits for the lock without stalling
  // other settles.
  const auto fresh = claim_of("fresh");
  sql_session more(database_.url());
  more.run("BEGIN; SELECT pg_advisory_xact_lock(onceguard.lock_of(" + sql_digest(fresh.id) + "))");
  const auto reply = caller.claims({fresh, claim_of("a"), claim_of("b")});
  EXPECT_EQ(reply[0]->kind, verdict_kind::busy);
  EXPECT_GT(reply[0]->retry_after, milliseconds(0));
  EXPECT_EQ(reply[1]->kind, verdict_kind::run);
  EXPECT_EQ(reply[2]->kind, verdict_kind::run);

  auto waiting = meanwhile([&] {
    blocking_store own(*tested);
    return own.settle(settle_of(held, lease_of_held)).outcome;
  });
  EXPECT_EQ(caller.settle(settle_of(other, lease_of_other)).outcome, settle_outcome::done);
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(0)), std::future_status::timeout);
  theirs.run("COMMIT");
  EXPECT_EQ(waiting.get(), settle_outcome::done);
  more.run("ROLLBACK");
  EXPECT_EQ(caller.claim(claim_of("fresh")).kind, verdict_kind::run);
}

TEST_F(postgres_store_test, a_row_locked_by_hand_stalls_settles_only_briefly) {
  const auto tested = open();
  blocking_store caller(*tested);
  const auto held = claim_of("held");
  const auto lease_of_held = caller.leased(held);
  const auto other = claim_of("other");
  const auto lease_of_other = caller.leased(other);
  sql_session theirs(database_.url());
  theirs.run("BEGIN; SELECT FROM onceguard.records WHERE digest = " + sql_digest(held.id) +
             " FOR UPDATE");
  const auto reply = caller.settles(
      {settle_of(held, lease_of_held), settle_of(other, lease_of_other)}, second * 3);
  ASSERT_FALSE(reply[0]);
  EXPECT_EQ(reply[0].error().code, errc::store_unreachable);
  EXPECT_EQ(reply[0].error().effect, effect::unknown);
  theirs.run("ROLLBACK");
  EXPECT_EQ(caller.settle(settle_of(other, lease_of_other)).outcome, settle_outcome::done);
  EXPECT_EQ(caller.settle(settle_of(held, lease_of_held)).outcome, settle_outcome::done);
}

TEST_F(postgres_store_test, a_settle_is_announced_to_another_process) {
  const auto one = open();
  const auto other = open();
  settled_notices notices;
  other->on_settled(notices.listener());
  blocking_store caller(*one);
  await_notice(caller, notices, "k");
  other->stop();
}

TEST_F(postgres_store_test, a_step_of_the_databases_clock_pauses_expiry) {
  const std::int64_t now = postgres_database::beginning;
  database_.set_clock(now);
  base::manual_clock own(now);
  auto value = params();
  value.clock = &own;
  const auto tested = open(value);
  blocking_store caller(*tested);
  caller.completed(claim_of("k"));
  database_.set_clock(now + 2 * day.count());
  EXPECT_EQ(caller.sweep(), 0u);
  EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::replay);
  EXPECT_EQ(caller.counted(observed_state::completed), 1u);
  own.advance(2 * day);
  EXPECT_EQ(caller.sweep(), 1u);
}

TEST_F(postgres_store_test, an_unreadable_record_is_an_error_and_is_left_unchanged) {
  const auto tested = open();
  blocking_store caller(*tested);
  const auto request = claim_of("k");
  const auto held = caller.leased(request);
  database_.admin().run(
      "UPDATE onceguard.records SET subject = set_byte(subject, 20, get_byte(subject, 20) # 4)");
  const auto reply = caller.claims({claim_of("k"), claim_of("other")});
  ASSERT_FALSE(reply[0]);
  EXPECT_EQ(reply[0].error().code, errc::record_unreadable);
  EXPECT_EQ(reply[1]->kind, verdict_kind::run);
  const auto settled = caller.settles({settle_of(request, held)});
  ASSERT_FALSE(settled[0]);
  EXPECT_EQ(settled[0].error().code, errc::record_unreadable);
  EXPECT_EQ(caller.try_find(request.id).error().code, errc::record_unreadable);
  EXPECT_EQ(caller.list().records.size(), 1u);
}

TEST_F(postgres_store_test, a_record_rebuilt_over_that_of_a_later_operation_keeps_nothing_of_it) {
  constexpr auto start = postgres_database::beginning;
  const auto over = lease_length + 2 * second;
  database_.set_clock(start);
  const auto tested = open();
  blocking_store caller(*tested);
  auto first = claim_of("k");
  auto later = claim_of("k");
  first.unknown_retention = later.unknown_retention = second;
  later.retention = 2 * day;
  const auto held = caller.leased(first);
  database_.set_clock(start + over.count());
  caller.leased(later);
  database_.admin().run("UPDATE onceguard.records SET step = 'charged', progress = 'x'");
  database_.set_clock(start + 2 * over.count());
  EXPECT_EQ(caller.settle(settle_of(first, held, settle_kind::abandon)).outcome,
            settle_outcome::incident);
  EXPECT_EQ(database_.admin().value(
                "SELECT concat(step, progress, retention, token) FROM onceguard.records"),
            std::to_string(held.token));
}

}  // namespace
}  // namespace onceguard::testing
