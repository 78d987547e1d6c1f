// Many requests of one key, which wait for the one that runs.
#include "base/random.hpp"
#include "engine/engine_fixture.hpp"
#include "engine/waiting_room.hpp"

namespace onceguard {
namespace {

std::uint64_t prefix_of(const record_id& id) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < 8; ++i) out = out << 8 | id[i];
  return out;
}

/// Many requests that wait for a record whose holder is another process.
class crowd : public engine_over_faults {
 protected:
  static constexpr std::size_t size = 64;

  claim theirs;
  lease their_lease;
  counted_work never;
  std::vector<outcome> out;

  void SetUp() override {
    params.replay_cache = 0;
    engine_over_faults::SetUp();
    policy.on_busy = on_busy_rule::wait;
    tested->start(io);
    theirs.id = op().id;
    base::random_bytes(theirs.claim_id);
    theirs.about = op().about;
    std::vector<claim> batch(1, theirs);
    const auto held = run(io, inner.claim(batch, milliseconds(100)));
    their_lease = held[0]->lease;
  }
  void TearDown() override { tested->stop(); }

  void gather() {
    for (std::size_t i = 0; i < size; ++i) {
      asio::co_spawn(io, operate(*tested, io, op(), never),
                     [this](std::exception_ptr, outcome got) { out.push_back(std::move(got)); });
    }
    until([&] { return tested->counters().busy > size; });
  }
  void settle(settle_kind kind) {
    settlement request;
    request.id = theirs.id;
    request.token = their_lease.token;
    request.claim_id = their_lease.claim_id;
    request.kind = kind;
    auto a = std::make_shared<answer>();
    a->status = 201;
    request.answer = a;
    std::vector<settlement> batch(1, request);
    EXPECT_TRUE(run(io, inner.settle(batch, milliseconds(100)))[0]);
  }
  /// Runs until all have their answers; how many claims that took beside the looks that time
  /// brings about by itself.
  std::size_t claims_to_answer_all() {
    const auto begun = base::boot_clock::now();
    const auto before = store.made(store_call::claim);
    store.announce({prefix_of(theirs.id)});
    until([&] { return out.size() == size; });
    const auto took = base::boot_clock::now() - begun;
    const auto polls = static_cast<std::size_t>(took / std::chrono::milliseconds(50)) + 1;
    const auto made = store.made(store_call::claim) - before;
    return made > polls ? made - polls : 0;
  }
};

TEST_F(crowd, to_gather_costs_one_claim_each) {
  const auto begun = base::boot_clock::now();
  gather();
  const auto took = base::boot_clock::now() - begun;
  const auto polls = static_cast<std::size_t>(took / std::chrono::milliseconds(50)) + 1;
  EXPECT_LE(store.made(store_call::claim), size + 1 + polls);
  settle(settle_kind::complete);
  until([&] { return out.size() == size; });
}

TEST_F(crowd, one_answer_serves_all) {
  gather();
  settle(settle_kind::complete);
  EXPECT_LE(claims_to_answer_all(), 2u);
  for (const auto& got : out) {
    ASSERT_EQ(got.kind, outcome_kind::replay);
    EXPECT_EQ(got.answer->status, 201);
  }
  EXPECT_EQ(tested->counters().replays, size);
}

TEST_F(crowd, one_waiter_learns_the_unknown_outcome_for_all) {
  gather();
  settle(settle_kind::abandon);
  EXPECT_LE(claims_to_answer_all(), 2u);
  for (const auto& got : out) EXPECT_EQ(got.kind, outcome_kind::unknown);
  EXPECT_EQ(never.runs, 0);
}

TEST_F(crowd, after_a_release_one_waiter_runs_for_all) {
  gather();
  settle(settle_kind::release);
  EXPECT_LE(claims_to_answer_all(), 2u);
  EXPECT_EQ(never.runs, 1);
}

TEST_F(crowd, nobody_takes_over_what_is_said_of_another_request) {
  gather();
  resolution free;
  free.id = theirs.id;
  free.force = true;
  counted_work second;
  // In one go, so that none of those who wait comes in between.
  auto free_and_run = [&]() -> asio::awaitable<outcome_kind> {
    const auto freed = co_await inner.resolve(free, milliseconds(100));
    EXPECT_TRUE(freed);
    const auto ran = co_await operate(*tested, io, op("k", 2), second);
    co_return ran.kind;
  };
  EXPECT_EQ(run(io, free_and_run()), outcome_kind::ran);
  until([&] { return out.size() == size; });
  for (const auto& got : out) EXPECT_EQ(got.kind, outcome_kind::mismatch);
}

TEST_F(crowd, who_stopped_listening_is_reported_nothing) {
  tested->stop();
  gather();
  settle(settle_kind::complete);
  store.announce({prefix_of(theirs.id)});
  until([&] { return out.size() == size; });  // by looking again
  EXPECT_EQ(out.back().kind, outcome_kind::replay);
}

}  // namespace
}  // namespace onceguard
