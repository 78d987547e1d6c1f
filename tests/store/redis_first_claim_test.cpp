// First claims that are set without a script, and what the scripts make of them.
#include <charconv>
#include <map>
#include <utility>

#include <boost/asio/co_spawn.hpp>

#include "base/rethrow.hpp"
#include "store/fault_acts.hpp"
#include "store/redis/stored.hpp"
#include "store/redis/token_block.hpp"
#include "store/redis_fixture.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using redis::token_block;

class redis_first_claim_test : public redis_fixture {
 protected:
  /// How often clients and scripts called that command since the last look.
  std::uint64_t calls(const std::string& command) {
    const auto now = number_in(server_.session().run({"INFO", "commandstats"}),
                               "cmdstat_" + command + ":calls=");
    return now - std::exchange(seen_[command], now);
  }
  /// What follows a word; 0: it is not there.
  static std::uint64_t number_in(const std::string& text, const std::string& word) {
    const auto at = text.find(word);
    std::uint64_t out = 0;
    if (at != std::string::npos) {
      std::from_chars(text.data() + at + word.size(), text.data() + text.size(), out);
    }
    return out;
  }
  unsigned format_of(const claim& asked) {
    const auto bytes = server_.session().run({"GET", name_of(asked)});
    return bytes.empty() ? 0u : static_cast<unsigned char>(bytes.front());
  }

 private:
  std::map<std::string, std::uint64_t> seen_;
};

TEST_F(redis_first_claim_test, needs_no_script) {
  const auto tested = open();
  desk at(*tested);
  calls("fcall");
  std::vector<claim> asked;
  for (int i = 0; i < 10; ++i) asked.push_back(claim_of("k" + std::to_string(i)));
  for (const auto& told : at.claims(asked)) EXPECT_EQ(told.value().kind, verdict_kind::run);
  EXPECT_EQ(calls("fcall"), 0u);
  EXPECT_EQ(format_of(asked[0]), redis::undated_format);
}

TEST_F(redis_first_claim_test, one_of_two_callers_gets_the_lease) {
  const auto tested = open();
  const auto other = open();
  desk at(*tested), beside(*other);
  const auto held = at.leased(claim_of("k"));
  const auto told = beside.claim(claim_of("k"));
  EXPECT_EQ(told.kind, verdict_kind::busy);
  EXPECT_GT(told.retry_after.count(), lease_length.count() - 10'000);
  EXPECT_EQ(beside.claim(claim_of("k", "other")).kind, verdict_kind::mismatch);
  EXPECT_EQ(at.settle(settle_of(claim_of("k"), held)).outcome, settle_outcome::done);
  EXPECT_EQ(beside.claim(claim_of("k")).kind, verdict_kind::replay);
}

TEST_F(redis_first_claim_test, is_dated_by_what_is_left_of_its_time_to_live) {
  redis_server still({}, true);
  auto now = std::int64_t{1'700'000'000'000};
  still.set_clock(now);
  const auto tested = open(still);
  desk at(*tested);
  auto asked = claim_of("k");
  asked.unknown_retention = day;
  at.leased(asked);
  still.set_clock(now + 10'000);
  const auto found = at.find(asked.id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->stored.claimed_at_wall, now);
  EXPECT_EQ(found->stored.deadline_lease, now + lease_length.count());
  EXPECT_EQ(found->stored.expires_at_wall, now + lease_length.count() + day.count());
  EXPECT_EQ(at.claim(claim_of("k")).retry_after, lease_length - milliseconds(10'000));
  still.set_clock(now + lease_length.count());
  EXPECT_EQ(at.seen(asked.id).state, observed_state::unknown);
  still.set_clock(now + lease_length.count() + day.count());
  EXPECT_FALSE(at.find(asked.id));
  EXPECT_EQ(at.claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_F(redis_first_claim_test, that_was_made_to_persist_is_not_read) {
  const auto tested = open();
  desk at(*tested);
  const auto asked = claim_of("k");
  at.leased(asked);
  auto admin = server_.session();
  admin.run({"PERSIST", name_of(asked)});
  const auto bytes = admin.run({"GET", name_of(asked)});
  EXPECT_EQ(at.try_claim(claim_of("k")).error().code, errc::record_unreadable);
  EXPECT_EQ(at.try_find(asked.id).error().code, errc::record_unreadable);
  EXPECT_EQ(admin.run({"GET", name_of(asked)}), bytes);
}

TEST_F(redis_first_claim_test, whose_every_byte_may_be_damaged_is_not_read_then) {
  const auto tested = open();
  desk at(*tested);
  const auto asked = claim_of("k");
  at.leased(asked);
  auto admin = server_.session();
  const auto good = admin.run({"GET", name_of(asked)});
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    auto bad = good;
    bad[byte] = static_cast<char>(bad[byte] ^ 4);
    admin.run({"SET", name_of(asked), bad, "KEEPTTL"});
    ASSERT_EQ(at.try_claim(claim_of("k")).error().code, errc::record_unreadable) << byte;
  }
}

TEST_F(redis_first_claim_test, that_would_be_gone_soon_is_the_script_s) {
  const auto tested = open();
  desk at(*tested);
  auto asked = claim_of("k");
  asked.lease = asked.unknown_retention = milliseconds(10'000);
  EXPECT_EQ(at.claim(asked).kind, verdict_kind::run);
  EXPECT_EQ(format_of(asked), redis::stored_format);
}

TEST_F(redis_first_claim_test, of_any_length_is_granted) {
  const auto tested = open();
  desk at(*tested);
  for (const auto lease :
       {redis::for_ever, milliseconds::max() - redis::for_ever, milliseconds::max()}) {
    for (const auto unknown : {milliseconds(0), redis::for_ever, milliseconds::max()}) {
      const auto key = std::to_string(lease.count()) + "-" + std::to_string(unknown.count());
      auto longest = claim_of(key);
      longest.lease = lease;
      longest.unknown_retention = unknown;
      EXPECT_EQ(at.claim(longest).kind, verdict_kind::run) << key;
      EXPECT_EQ(at.claim(claim_of(key)).kind, verdict_kind::busy) << key;
    }
  }
}

TEST_F(redis_first_claim_test, has_a_later_token_than_another_process_has_given_since) {
  const auto tested = open();
  const auto later = open();
  desk at(*tested), beside(*later);
  const auto asked = claim_of("k");
  const auto held = beside.leased(asked);
  auto how = settle_of(asked, held);
  how.retention = milliseconds(1);
  beside.settle(how);
  wait_until("its end", [&] { return !at.find(asked.id); });
  EXPECT_GT(at.leased(claim_of("k")).token, held.token);
}

TEST_F(redis_first_claim_test, has_a_later_token_also_where_the_clock_was_set) {
  for (const std::int64_t step : {day.count() * 2, std::int64_t{-3'600'000}}) {
    redis_server still({}, true);
    const auto now = std::int64_t{1'700'000'000'000};
    still.set_clock(now);
    const auto tested = open(still);
    const auto later = open(still);
    desk at(*tested), beside(*later);
    at.leased(claim_of("elsewhere"));
    const auto last = beside.completed(claim_of("k")).token;
    still.set_clock(now + step);
    if (step < 0) still.session().run({"DEL", name_of(claim_of("k"))});
    const auto told = at.claim(claim_of("k"));
    EXPECT_EQ(told.kind, verdict_kind::run);
    EXPECT_GT(told.lease.token, last) << step;
    EXPECT_EQ(at.seen(claim_of("k").id).stored.token, told.lease.token);
  }
}

TEST_F(redis_first_claim_test, has_a_later_token_also_after_a_flush_that_only_others_have_seen) {
  const auto tested = open();
  const auto later = open();
  desk at(*tested), beside(*later);
  for (int i = 0; i < 3; ++i) at.leased(claim_of("before" + std::to_string(i)));
  const auto last = beside.leased(claim_of("k")).token;
  server_.session().run({"FLUSHALL"});
  // What it got of a memory that nobody knows is given back.
  const auto asked = claim_of("k");
  const auto told = at.try_claim(asked);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, errc::store_lost);
  auto back = settle_of(asked, lease(), settle_kind::release);
  back.claim_id = asked.claim_id;
  ASSERT_TRUE(settle_until_known(at, back));
  EXPECT_GT(leased_until_known(at, claim_of("k")).token, last);
}

TEST_F(redis_first_claim_test, tokens_come_by_themselves_when_they_run_out) {
  const auto tested = open();
  desk at(*tested);
  calls("fcall");
  token last = 0;
  constexpr std::uint64_t rounds = 3 * token_block::size / 64;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::vector<claim> asked;
    for (int i = 0; i < 64; ++i) {
      asked.push_back(claim_of(std::to_string(round) + "." + std::to_string(i)));
    }
    for (const auto& told : at.claims(asked)) {
      EXPECT_GT(told.value().lease.token, last);
      last = told.value().lease.token;
    }
  }
  EXPECT_LT(calls("fcall"), 20u);  // more tokens, a few times
}

TEST_F(redis_first_claim_test, beside_settles_that_replicas_confirm_breaks_no_connection) {
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
    if (key < "e") {  // so that some claim while others settle
      std::vector<claim> claims(1, claim_of(key));
      co_await tested->claim(std::move(claims), patience);
    }
    for (int i = 0; i < 20; ++i) {
      const auto asked = claim_of(key + std::to_string(i));
      std::vector<claim> claims(1, asked);
      const auto told = co_await tested->claim(std::move(claims), patience);
      std::vector<settlement> settles(1, settle_of(asked, told.at(0).value().lease));
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

TEST_F(redis_first_claim_test, that_could_not_be_counted_is_not_granted) {
  const auto tested = open();
  desk at(*tested);
  auto admin = server_.session();
  admin.run({"SET", "onceguard:generation", "no number"});
  const auto asked = claim_of("k");
  const auto told = at.try_claim(asked);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().effect, effect::unknown);
  admin.run({"SET", "onceguard:generation", "1000"});
  expect_verdict(at, repeat_of(asked), verdict_kind::run);
}

TEST(redis_token_block_test, gives_each_token_once_and_none_that_is_old) {
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
