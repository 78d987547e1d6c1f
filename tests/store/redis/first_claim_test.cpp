// First claims, which are written by a SET without a script, and how the scripts read them.
#include <charconv>
#include <map>
#include <utility>

#include <boost/asio/co_spawn.hpp>

#include "base/rethrow.hpp"
#include "store/contract/fault_acts.hpp"
#include "store/redis/fixture.hpp"
#include "store/redis/stored.hpp"
#include "store/redis/token_block.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using redis::token_block;

class redis_first_claim_test : public redis_fixture {
 protected:
  /// How often clients and scripts called `command` since the previous call of this function.
  std::uint64_t calls(const std::string& command) {
    const auto now = number_in(server_.session().run({"INFO", "commandstats"}),
                               "cmdstat_" + command + ":calls=");
    return now - std::exchange(seen_[command], now);
  }
  /// The number behind `word` in `text`; 0 if `word` is not in `text`.
  static std::uint64_t number_in(const std::string& text, const std::string& word) {
    const auto position = text.find(word);
    std::uint64_t out = 0;
    if (position != std::string::npos) {
      std::from_chars(text.data() + position + word.size(), text.data() + text.size(), out);
    }
    return out;
  }
  unsigned format_of(const claim& request) {
    const auto bytes = server_.session().run({"GET", name_of(request)});
    return bytes.empty() ? 0u : static_cast<unsigned char>(bytes.front());
  }

 private:
  std::map<std::string, std::uint64_t> seen_;
};

TEST_F(redis_first_claim_test, a_first_claim_needs_no_script) {
  const auto tested = open();
  blocking_store caller(*tested);
  calls("fcall");
  std::vector<claim> items;
  for (int i = 0; i < 10; ++i) items.push_back(claim_of("k" + std::to_string(i)));
  for (const auto& verdict : caller.claims(items))
    EXPECT_EQ(verdict.value().kind, verdict_kind::run);
  EXPECT_EQ(calls("fcall"), 0u);
  EXPECT_EQ(format_of(items[0]), redis::undated_format);
}

TEST_F(redis_first_claim_test, one_of_two_callers_of_a_key_gets_the_lease) {
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

TEST_F(redis_first_claim_test, a_first_claim_is_dated_by_its_remaining_time_to_live) {
  redis_server still({}, true);
  auto now = std::int64_t{1'700'000'000'000};
  still.set_clock(now);
  const auto tested = open(still);
  blocking_store caller(*tested);
  auto request = claim_of("k");
  request.unknown_retention = day;
  caller.leased(request);
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

TEST_F(redis_first_claim_test, a_first_claim_without_its_time_to_live_is_unreadable) {
  const auto tested = open();
  blocking_store caller(*tested);
  const auto request = claim_of("k");
  caller.leased(request);
  auto admin = server_.session();
  admin.run({"PERSIST", name_of(request)});
  const auto bytes = admin.run({"GET", name_of(request)});
  EXPECT_EQ(caller.try_claim(claim_of("k")).error().code, errc::record_unreadable);
  EXPECT_EQ(caller.try_find(request.id).error().code, errc::record_unreadable);
  EXPECT_EQ(admin.run({"GET", name_of(request)}), bytes);
}

TEST_F(redis_first_claim_test, a_first_claim_with_any_damaged_byte_is_unreadable) {
  const auto tested = open();
  blocking_store caller(*tested);
  const auto request = claim_of("k");
  caller.leased(request);
  auto admin = server_.session();
  const auto good = admin.run({"GET", name_of(request)});
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    auto bad = good;
    bad[byte] = static_cast<char>(bad[byte] ^ 4);
    admin.run({"SET", name_of(request), bad, "KEEPTTL"});
    ASSERT_EQ(caller.try_claim(claim_of("k")).error().code, errc::record_unreadable) << byte;
  }
}

TEST_F(redis_first_claim_test, a_first_claim_that_would_expire_soon_is_written_by_the_script) {
  const auto tested = open();
  blocking_store caller(*tested);
  auto request = claim_of("k");
  request.lease = request.unknown_retention = milliseconds(10'000);
  EXPECT_EQ(caller.claim(request).kind, verdict_kind::run);
  EXPECT_EQ(format_of(request), redis::stored_format);
}

TEST_F(redis_first_claim_test, a_first_claim_with_a_lease_of_any_length_is_granted) {
  const auto tested = open();
  blocking_store caller(*tested);
  for (const auto lease :
       {redis::for_ever, milliseconds::max() - redis::for_ever, milliseconds::max()}) {
    for (const auto unknown : {milliseconds(0), redis::for_ever, milliseconds::max()}) {
      const auto key = std::to_string(lease.count()) + "-" + std::to_string(unknown.count());
      auto longest = claim_of(key);
      longest.lease = lease;
      longest.unknown_retention = unknown;
      EXPECT_EQ(caller.claim(longest).kind, verdict_kind::run) << key;
      EXPECT_EQ(caller.claim(claim_of(key)).kind, verdict_kind::busy) << key;
    }
  }
}

TEST_F(redis_first_claim_test, a_first_claim_gets_a_token_above_those_of_another_process) {
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

TEST_F(redis_first_claim_test, tokens_still_grow_after_a_step_of_the_servers_clock) {
  for (const std::int64_t step : {day.count() * 2, std::int64_t{-3'600'000}}) {
    redis_server still({}, true);
    const auto now = std::int64_t{1'700'000'000'000};
    still.set_clock(now);
    const auto tested = open(still);
    const auto later = open(still);
    blocking_store caller(*tested), beside(*later);
    caller.leased(claim_of("elsewhere"));
    const auto last = beside.completed(claim_of("k")).token;
    still.set_clock(now + step);
    if (step < 0) still.session().run({"DEL", name_of(claim_of("k"))});
    const auto verdict = caller.claim(claim_of("k"));
    EXPECT_EQ(verdict.kind, verdict_kind::run);
    EXPECT_GT(verdict.lease.token, last) << step;
    EXPECT_EQ(caller.seen(claim_of("k").id).stored.token, verdict.lease.token);
  }
}

TEST_F(redis_first_claim_test, tokens_of_two_processes_still_grow_after_a_flush) {
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

TEST_F(redis_first_claim_test, a_used_up_token_block_is_refilled_with_few_script_calls) {
  const auto tested = open();
  blocking_store caller(*tested);
  calls("fcall");
  token last = 0;
  constexpr std::uint64_t rounds = 3 * token_block::size / 64;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::vector<claim> items;
    for (int i = 0; i < 64; ++i) {
      items.push_back(claim_of(std::to_string(round) + "." + std::to_string(i)));
    }
    for (const auto& reply : caller.claims(items)) {
      EXPECT_GT(reply.value().lease.token, last);
      last = reply.value().lease.token;
    }
  }
  EXPECT_LT(calls("fcall"), 20u);  // a few calls for more tokens
}

TEST_F(redis_first_claim_test,
       first_claims_beside_settles_that_wait_for_replicas_break_no_connection) {
  redis_server master({"--repl-diskless-sync-delay", "0"});
  const redis_server replica({"--replicaof", "127.0.0.1", std::to_string(master.port())});
  auto admin = master.session();
  wait_until("a replica", [&] {
    return admin.run({"INFO", "replication"}).find("state=online") != std::string::npos;
  });
  const auto tested = open(master, "min_replicas=1&connections=1");
  const auto made = [&] {
    return number_in(admin.run({"INFO", "stats"}), "connections_received:");
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

TEST_F(redis_first_claim_test, a_first_claim_that_could_not_be_counted_is_not_granted) {
  const auto tested = open();
  blocking_store caller(*tested);
  auto admin = server_.session();
  admin.run({"SET", "onceguard:generation", "no number"});
  const auto request = claim_of("k");
  const auto verdict = caller.try_claim(request);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().effect, effect::unknown);
  admin.run({"SET", "onceguard:generation", "1000"});
  expect_verdict(caller, repeat_of(request), verdict_kind::run);
}

TEST(redis_token_block_test, a_token_block_gives_each_token_once_and_no_expired_token) {
  token_block tokens;
  const auto now = base::boot_now();
  EXPECT_FALSE(tokens.take(now));
  EXPECT_TRUE(tokens.ask_for_more(now));
  EXPECT_FALSE(tokens.ask_for_more(now));
  tokens.refill(100, 5, now);
  EXPECT_EQ(tokens.taken_at(), 5);
  EXPECT_EQ(tokens.take(now), 100u);
  EXPECT_EQ(tokens.take(now), 101u);
  EXPECT_FALSE(tokens.ask_for_more(now));
  EXPECT_TRUE(tokens.ask_for_more(now + token_block::age_max / 2));
  EXPECT_FALSE(tokens.take(now + token_block::age_max));
  tokens.refill(10'000, 6, now);
  for (std::uint64_t i = 0; i < token_block::size; ++i) EXPECT_EQ(tokens.take(now), 10'000 + i);
  EXPECT_FALSE(tokens.take(now));
  EXPECT_TRUE(tokens.ask_for_more(now));
  tokens.drop();
  EXPECT_FALSE(tokens.take(now));
}

}  // namespace
}  // namespace onceguard::testing
