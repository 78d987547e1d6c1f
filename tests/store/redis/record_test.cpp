// Records in Redis: how they are set, compared and replaced, and what a round trip each costs.
#include <charconv>
#include <map>
#include <utility>

#include <boost/asio/co_spawn.hpp>

#include "base/rethrow.hpp"
#include "store/contract/fault_acts.hpp"
#include "store/redis/fixture.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

/// The number behind `word` in `text`; 0 if `word` is not in `text`.
std::uint64_t number_behind(const std::string& text, const std::string& word) {
  const auto position = text.find(word);
  std::uint64_t out = 0;
  if (position != std::string::npos) {
    std::from_chars(text.data() + position + word.size(), text.data() + text.size(), out);
  }
  return out;
}

class redis_record_test : public redis_fixture {
 protected:
  /// How often `command` was called since the previous call of this function.
  std::uint64_t calls(const std::string& command) {
    const auto now = number_behind(server_.session().run({"INFO", "commandstats"}),
                                   "cmdstat_" + command + ":calls=");
    return now - std::exchange(seen_[command], now);
  }

 private:
  std::map<std::string, std::uint64_t> seen_;
};

TEST_F(redis_record_test, a_claim_and_a_settle_are_one_call_each_and_a_repeat_is_one) {
  const auto tested = open();
  blocking_store caller(*tested);
  const auto request = claim_of("k");
  calls("evalsha");
  const auto held = caller.leased(request);
  EXPECT_EQ(calls("evalsha"), 1u);
  EXPECT_TRUE(caller.extend(extend_of(request, held)));
  EXPECT_EQ(calls("evalsha"), 1u);
  EXPECT_EQ(caller.settle(settle_of(request, held)).outcome, settle_outcome::done);
  EXPECT_EQ(calls("evalsha"), 1u);
  EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::replay);
  EXPECT_EQ(calls("evalsha"), 1u);
}

TEST_F(redis_record_test, a_lease_of_another_process_is_settled_after_a_look_at_it) {
  const auto tested = open();
  const auto other = open();
  blocking_store caller(*tested), beside(*other);
  const auto request = claim_of("k");
  const auto held = caller.leased(request);
  calls("evalsha");
  EXPECT_EQ(beside.settle(settle_of(request, held)).outcome, settle_outcome::done);
  EXPECT_EQ(calls("evalsha"), 2u);
  EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::replay);
}

TEST_F(redis_record_test, a_record_that_another_process_changed_is_decided_anew) {
  const auto tested = open();
  const auto other = open();
  blocking_store caller(*tested), beside(*other);
  const auto request = claim_of("k");
  const auto held = caller.leased(request);
  auto end = settle_of(request, held, settle_kind::abandon);
  end.why = unknown_reason::upstream_timeout;
  EXPECT_EQ(beside.settle(end).outcome, settle_outcome::done);
  // The lease was abandoned: this process has not seen that, and must not revive it.
  EXPECT_FALSE(caller.extend(extend_of(request, held)));
  EXPECT_EQ(caller.settle(settle_of(request, held)).outcome, settle_outcome::done);
  resolution release;
  release.id = request.id;
  release.force = true;
  const auto next = claim_of("next");
  const auto lease = caller.leased(next);
  release.id = next.id;
  beside.resolve(release);
  EXPECT_EQ(caller.settle(settle_of(next, lease, settle_kind::fail)).outcome,
            settle_outcome::stale);
}

TEST_F(redis_record_test, a_lease_that_another_process_gave_up_is_not_renewed) {
  const auto tested = open();
  const auto other = open();
  blocking_store caller(*tested), beside(*other);
  const auto request = claim_of("k");
  const auto held = caller.leased(request);
  EXPECT_TRUE(caller.extend(extend_of(request, held)));
  // It leaves no reason: the beginning of the record differs by its stamp alone.
  EXPECT_EQ(beside.settle(settle_of(request, held, settle_kind::abandon)).outcome,
            settle_outcome::done);
  EXPECT_FALSE(caller.extend(extend_of(request, held)));
  EXPECT_EQ(caller.seen(request.id).state, observed_state::unknown);
}

TEST_F(redis_record_test, one_of_two_callers_of_a_key_gets_the_lease) {
  const auto tested = open();
  const auto other = open();
  blocking_store caller(*tested), beside(*other);
  const auto held = caller.leased(claim_of("k"));
  const auto verdict = beside.claim(claim_of("k"));
  EXPECT_EQ(verdict.kind, verdict_kind::busy);
  EXPECT_GT(verdict.retry_after.count(), lease_length.count() - 10'000);
  EXPECT_EQ(beside.claim(claim_of("k", "other")).kind, verdict_kind::mismatch);
  EXPECT_EQ(caller.settle(settle_of(claim_of("k"), held)).outcome, settle_outcome::done);
  EXPECT_EQ(beside.claim(claim_of("k")).kind, verdict_kind::replay);
}

TEST_F(redis_record_test, the_times_of_a_record_are_those_of_the_servers_clock) {
  redis_server still({}, true);
  auto now = std::int64_t{1'700'000'000'000};
  still.set_clock(now);
  const auto tested = open(still);
  blocking_store caller(*tested);
  auto request = claim_of("k");
  request.unknown_retention = day;
  const auto held = caller.leased(request);
  EXPECT_EQ(held.token, static_cast<token>(now) * 1'000);
  still.set_clock(now + 10'000);
  const auto found = caller.find(request.id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->stored.claimed_at_wall, now);
  EXPECT_EQ(found->stored.deadline_lease, now + lease_length.count());
  EXPECT_EQ(found->stored.expires_at_wall, now + lease_length.count() + day.count());
  EXPECT_EQ(caller.claim(claim_of("k")).retry_after, lease_length - milliseconds(10'000));
  still.set_clock(now + lease_length.count());
  EXPECT_EQ(caller.seen(request.id).state, observed_state::unknown);
  still.set_clock(now + lease_length.count() + day.count());
  EXPECT_FALSE(caller.find(request.id));
  EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_F(redis_record_test, a_running_record_with_any_damaged_byte_is_unreadable) {
  const auto tested = open();
  blocking_store caller(*tested);
  const auto request = claim_of("k");
  caller.leased(request);
  auto admin = server_.session();
  const auto good = admin.run({"GET", name_of(request)});
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    auto bad = good;
    bad[byte] = static_cast<char>(bad[byte] ^ 4);
    admin.run({"SET", name_of(request), bad});
    ASSERT_EQ(caller.try_claim(claim_of("k")).error().code, errc::record_unreadable) << byte;
  }
}

TEST_F(redis_record_test, a_claim_with_a_lease_of_any_length_is_granted) {
  const auto tested = open();
  blocking_store caller(*tested);
  constexpr milliseconds century{3'153'600'000'000};
  for (const auto lease : {century, milliseconds::max() - century, milliseconds::max()}) {
    for (const auto unknown : {milliseconds(0), century, milliseconds::max()}) {
      const auto key = std::to_string(lease.count()) + "-" + std::to_string(unknown.count());
      auto longest = claim_of(key);
      longest.lease = lease;
      longest.unknown_retention = unknown;
      EXPECT_EQ(caller.claim(longest).kind, verdict_kind::run) << key;
      EXPECT_EQ(caller.claim(claim_of(key)).kind, verdict_kind::busy) << key;
    }
  }
}

TEST_F(redis_record_test, a_claim_gets_a_token_above_those_of_another_process) {
  const auto tested = open();
  const auto later = open();
  blocking_store caller(*tested), beside(*later);
  const auto request = claim_of("k");
  const auto held = beside.leased(request);
  auto change = settle_of(request, held);
  change.retention = milliseconds(1);
  beside.settle(change);
  wait_until("its end", [&] { return !caller.find(request.id); });
  EXPECT_GT(caller.leased(claim_of("k")).token, held.token);
}

TEST_F(redis_record_test, tokens_of_a_record_grow_while_the_servers_clock_is_set_back) {
  redis_server still({}, true);
  const auto now = std::int64_t{1'700'000'000'000};
  still.set_clock(now);
  const auto tested = open(still);
  blocking_store caller(*tested);
  token last = 0;
  for (const std::int64_t time : {now, now, now - 3'600'000, now + 2 * day.count()}) {
    still.set_clock(time);
    const auto request = claim_of("k");
    const auto held = caller.leased(request);
    EXPECT_GT(held.token, last);
    last = held.token;
    caller.settle(settle_of(request, held, settle_kind::release));
  }
}

TEST_F(redis_record_test, tokens_of_two_processes_still_grow_after_a_flush) {
  const auto tested = open();
  const auto later = open();
  blocking_store caller(*tested), beside(*later);
  for (int i = 0; i < 3; ++i) caller.leased(claim_of("before" + std::to_string(i)));
  const auto last = beside.leased(claim_of("k")).token;
  server_.session().run({"FLUSHALL"});
  // The server granted a lease from a memory that the store does not know. That lease is released.
  const auto request = claim_of("k");
  const auto verdict = caller.try_claim(request);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, errc::store_lost);
  auto back = settle_of(request, lease(), settle_kind::release);
  back.claim_id = request.claim_id;
  ASSERT_TRUE(settle_until_known(caller, back));
  EXPECT_GT(leased_until_known(caller, claim_of("k")).token, last);
}

TEST_F(redis_record_test, claims_and_settles_that_wait_for_replicas_break_no_connection) {
  redis_server master({"--repl-diskless-sync-delay", "0"});
  const redis_server replica({"--replicaof", "127.0.0.1", std::to_string(master.port())});
  auto admin = master.session();
  wait_until("a replica", [&] {
    return admin.run({"INFO", "replication"}).find("state=online") != std::string::npos;
  });
  const auto tested = open(master, "min_replicas=1");
  const auto made = [&] {
    return number_behind(admin.run({"INFO", "stats"}), "connections_received:");
  };
  const auto before = made();
  boost::asio::io_context context;
  const auto complete = [&](std::string key) -> boost::asio::awaitable<void> {
    if (key < "e") {  // so that some callers claim while others settle
      std::vector<claim> claims(1, claim_of(key));
      co_await tested->claim(std::move(claims), patience);
    }
    for (int i = 0; i < 20; ++i) {
      const auto request = claim_of(key + std::to_string(i));
      std::vector<claim> claims(1, request);
      const auto verdict = co_await tested->claim(std::move(claims), patience);
      std::vector<settlement> settles(1, settle_of(request, verdict.at(0).value().lease));
      const auto done = co_await tested->settle(std::move(settles), patience);
      EXPECT_EQ(done.at(0).value().outcome, settle_outcome::done);
    }
  };
  for (const char* key : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    boost::asio::co_spawn(context, complete(key), base::rethrow);
  }
  context.run();
  EXPECT_EQ(made(), before);
}

TEST_F(redis_record_test, a_claim_that_could_not_be_counted_is_not_granted) {
  const auto tested = open();
  blocking_store caller(*tested);
  auto admin = server_.session();
  const auto kept = admin.run({"DUMP", "onceguard:store"});
  admin.run({"SET", "onceguard:store", "no metadata"});
  const auto request = claim_of("k");
  const auto verdict = caller.try_claim(request);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().effect, effect::unknown);
  admin.run({"RESTORE", "onceguard:store", "0", kept, "REPLACE"});
  expect_verdict(caller, repeat_of(request), verdict_kind::run);
}

TEST_F(redis_record_test, writes_of_a_full_server_are_counted) {
  redis_server full;
  const auto tested = open(full);
  blocking_store caller(*tested);
  const auto one = claim_of("one"), two = claim_of("two");
  const auto first = caller.leased(one), second = caller.leased(two);
  auto admin = full.session();
  admin.run({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(caller.settle(settle_of(one, first)).outcome, settle_outcome::done);
  const auto before = caller.vitals().generation;
  EXPECT_EQ(caller.settle(settle_of(two, second)).outcome, settle_outcome::done);
  EXPECT_EQ(caller.vitals().generation, before + 1);
}

}  // namespace
}  // namespace onceguard::testing
