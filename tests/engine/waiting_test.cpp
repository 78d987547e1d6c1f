// Waiting for a twin: who is woken, who asks, and what one hears from another.
#include "base/random.hpp"
#include "engine/twin_fixture.hpp"
#include "engine/waiting_room.hpp"

namespace onceguard {
namespace {

using woken = waiting_room::ticket::woken;

constexpr milliseconds for_ever{3'600'000};

std::uint64_t prefix_of(const record_id& id) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < 8; ++i) out = out << 8 | id[i];
  return out;
}

/// Those who wait in a room, and what ended their waits.
class waiting_room_test : public ::testing::Test {
 protected:
  asio::io_context io;
  waiting_room room{100};
  record_id id{};
  record_id twin{};  // begins as `id` does
  record_id other{};

  void SetUp() override {
    id.fill(7);
    twin = id;
    twin.back() = 8;
    other.fill(9);
  }

  struct visit {
    std::unique_ptr<waiting_room::ticket> ticket;
    std::optional<woken> ended;
  };

  visit& enter(const record_id& where) {
    auto& added = visits_.emplace_back();
    added.ticket = room.enter(where, io.get_executor());
    return added;
  }
  visit& wait(const record_id& where, milliseconds until = for_ever,
              milliseconds twin_poll = for_ever) {
    auto& added = enter(where);
    auto keep = [&added](std::exception_ptr, woken reason) { added.ended = reason; };
    asio::co_spawn(io, added.ticket->wait(base::boot_clock::now() + until, twin_poll), keep);
    poll();
    return added;
  }
  void poll() {
    io.restart();
    io.poll();
  }
  void TearDown() override {
    // A ticket stays until its wait is over.
    for (const auto& line : {id, twin, other})
      room.announce(line, std::make_shared<twin_outcome>());
    poll();
    visits_.clear();
    poll();
  }

  std::list<visit> visits_;
};

TEST_F(waiting_room_test, a_settle_elsewhere_makes_the_first_waiter_ask_the_store) {
  auto& first = wait(id);
  auto& second = wait(id);
  auto& of_twin = wait(twin);
  auto& of_other = wait(other);
  room.poll_by_prefix({prefix_of(id)});
  poll();
  EXPECT_EQ(first.ended, woken::to_poll);
  EXPECT_EQ(of_twin.ended, woken::to_poll) << "the prefix does not tell them apart";
  EXPECT_FALSE(second.ended);
  EXPECT_FALSE(of_other.ended);
}

TEST_F(waiting_room_test, prefixes_at_both_ends_are_found) {
  record_id lowest{};
  record_id highest;
  highest.fill(0xff);
  auto& low = wait(lowest);
  auto& high = wait(highest);
  room.poll_by_prefix({prefix_of(highest), 12345, prefix_of(lowest)});
  poll();
  EXPECT_EQ(low.ended, woken::to_poll);
  EXPECT_EQ(high.ended, woken::to_poll);
}

TEST_F(waiting_room_test, a_call_that_comes_before_the_wait_is_not_lost) {
  auto& first = enter(id);
  room.poll(id);
  poll();
  auto keep = [&first](std::exception_ptr, woken request) { first.ended = request; };
  asio::co_spawn(io, first.ticket->wait(base::boot_clock::now() + for_ever, for_ever), keep);
  poll();
  EXPECT_EQ(first.ended, woken::to_poll);
}

TEST_F(waiting_room_test, an_answer_reaches_all_waiters) {
  auto& first = wait(id);
  auto& second = wait(id);
  auto& of_twin = wait(twin);
  auto reply = std::make_shared<twin_outcome>();
  reply->outcome.kind = outcome_kind::replay;
  room.announce(id, reply);
  poll();
  EXPECT_EQ(first.ended, woken::announced);
  EXPECT_EQ(second.ended, woken::announced);
  EXPECT_EQ(second.ticket->announced(), reply);
  EXPECT_FALSE(of_twin.ended);
}

TEST_F(waiting_room_test, when_the_first_waiter_leaves_the_next_one_asks_the_store) {
  auto& first = wait(id);
  auto& second = wait(id);
  EXPECT_TRUE(first.ticket->first());
  EXPECT_FALSE(second.ticket->first());
  room.poll(id);
  poll();
  first.ticket.reset();
  poll();
  EXPECT_EQ(second.ended, woken::to_poll);
  EXPECT_TRUE(second.ticket->first());
}

TEST_F(waiting_room_test, only_the_first_waiter_asks_the_store_at_its_time) {
  auto& first = wait(id, milliseconds(1));
  auto& second = wait(id, milliseconds(1));
  while (!first.ended || !second.ended) {
    io.restart();
    io.run_one_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(first.ended, woken::to_poll);
  EXPECT_EQ(second.ended, woken::late);
}

TEST_F(waiting_room_test, the_first_waiter_asks_the_store_again_by_itself) {
  auto& first = wait(id, for_ever, milliseconds(1));
  while (!first.ended) {
    io.restart();
    io.run_one_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(first.ended, woken::to_poll);
}

TEST_F(twin, that_completes_answers_all_waiters) {
  begin(first);
  gather(3);
  EXPECT_EQ(let_go().kind, outcome_kind::ran);
  expect_all(3, outcome_kind::replay);
  EXPECT_EQ(second.runs, 0);
  EXPECT_EQ(tested->counters().cached_replays, 0u) << "nobody had to look";
}

TEST_F(twin, is_waited_for_no_longer_by_a_caller_that_left) {
  begin(first);
  std::stop_source caller;
  auto left = op();
  left.caller = caller.get_token();
  std::optional<outcome> ended;
  asio::co_spawn(io, operate(*tested, io, std::move(left), second),
                 [&](std::exception_ptr, outcome got) { ended = std::move(got); });
  gather(0);
  EXPECT_FALSE(ended);
  const auto claims = store.made(store_call::claim);
  caller.request_stop();
  until([&] { return ended.has_value(); });
  EXPECT_EQ(ended->kind, outcome_kind::busy);
  EXPECT_EQ(store.made(store_call::claim), claims);
  EXPECT_EQ(let_go().kind, outcome_kind::ran);
}

TEST_F(twin, that_ends_unknown_wakes_one_waiter_for_all) {
  first.ends = settle_kind::abandon;
  begin(first);
  gather(3);
  let_go();
  expect_all(3, outcome_kind::unknown);
}

TEST_F(twin, that_ends_unknown_decides_nothing_under_another_policy) {
  first.ends = settle_kind::abandon;
  begin(first);
  gather(1);
  auto rerun = policy;
  rerun.unknown = unknown_policy::rerun;
  auto other = op();
  other.policy = &rerun;
  std::optional<outcome> ended;
  asio::co_spawn(io, operate(*tested, io, std::move(other), second),
                 [&](std::exception_ptr, outcome got) { ended = std::move(got); });
  gather(0);
  let_go();
  until([&] { return ended.has_value(); });
  EXPECT_EQ(ended->kind, outcome_kind::ran);
  expect_all(1, outcome_kind::unknown);
}

TEST_F(twin, that_is_released_wakes_one_who_runs_for_all) {
  first.ends = settle_kind::release;
  begin(first);
  gather(3);
  let_go();
  until([&] { return out.size() == 3; });
  EXPECT_EQ(second.runs, 1);
}

TEST_F(twin, that_is_settled_late_wakes_one) {
  begin(first);
  gather(3);
  store.fail(store_call::settle, store_fault::before, 2);
  EXPECT_EQ(let_go().kind, outcome_kind::unrecorded);
  expect_all(3, outcome_kind::replay);
}

TEST_F(twin, that_is_superseded_wakes_one) {
  begin(first);
  gather(2);
  resolution freed;
  freed.id = op().id;
  freed.force = true;
  ASSERT_TRUE(run(io, inner.resolve(freed, milliseconds(100))));
  claim later;  // of another process, which then did nothing
  later.id = op().id;
  base::random_bytes(later.claim_id);
  later.about = op().about;
  settlement none;
  none.id = later.id;
  none.claim_id = later.claim_id;
  none.kind = settle_kind::release;
  none.token = run(io, inner.claim({later}, milliseconds(100))).at(0)->lease.token;
  ASSERT_TRUE(run(io, inner.settle({none}, milliseconds(100))).at(0));
  EXPECT_EQ(let_go().kind, outcome_kind::superseded);
  until([&] { return out.size() == 2; });
  EXPECT_EQ(second.runs, 1);
}

TEST_F(twin, whose_claim_is_in_doubt_wakes_one_waiter_when_it_is_released) {
  store.fail(store_call::claim, store_fault::after_timeout, 1);
  EXPECT_EQ(execute(first).kind, outcome_kind::store_failed);
  gather(2);
  until([&] { return out.size() == 2; });
  EXPECT_EQ(second.runs, 1);
}

}  // namespace
}  // namespace onceguard
