// The simulation itself: that it is deterministic, that seeds pass, and that it notices what it is
// made for.
#include "simulation.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace onceguard::sim {
namespace {

/// A share of all of `most`, as ONCEGUARD_TEST_SCALE says.
std::uint64_t scaled(double most) {
  const char* const text = std::getenv("ONCEGUARD_TEST_SCALE");
  const double scale = text == nullptr ? 1 : std::atof(text);
  return static_cast<std::uint64_t>(std::max(most * scale, 50.0));
}

TEST(simulation, a_seed_gives_the_same_history_byte_for_byte) {
  for (const auto kind :
       {world_kind::engine, world_kind::tiered, world_kind::serve, world_kind::journal}) {
    for (const std::uint64_t seed : {2u, 5u, 11u, 77u}) {
      const scene played(seed, kind);
      const auto first = play(played, played.disturbances);
      // What another seed leaves behind in this process changes nothing.
      const scene other(seed + 1);
      static_cast<void>(play(other, other.disturbances));
      const auto again = play(scene(seed, kind), played.disturbances);
      ASSERT_FALSE(first.events.all().empty());
      EXPECT_EQ(first.events.digest(), again.events.digest()) << seed;
      EXPECT_EQ(first.handlers, again.handlers) << seed;
    }
  }
}

TEST(simulation, two_seeds_differ) {
  const scene one(3), two(4);
  EXPECT_NE(play(one, one.disturbances).events.digest(),
            play(two, two.disturbances).events.digest());
}

TEST(simulation, the_clocks_of_the_process_are_its_own_again) {
  const auto before = base::boot_now();
  const scene played(1);
  static_cast<void>(play(played, played.disturbances));
  const auto passed = base::boot_now() - before;
  EXPECT_GT(passed.count(), 0);
  EXPECT_LT(passed, std::chrono::seconds(60));
}

/// From the seed 1 on.
void expect_to_pass(std::uint64_t count, world_kind kind) {
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    const scene played(seed, kind);
    const auto shown = play(played, played.disturbances);
    for (const auto& each : shown.violations) {
      ADD_FAILURE() << each.fault << "; ./dev simulate --world " << name_of(kind) << " --seed "
                    << seed << " --trace";
    }
  }
}

TEST(simulation, seeds_pass) { expect_to_pass(scaled(ONCEGUARD_SIM_SEEDS), world_kind::engine); }

TEST(simulation, seeds_of_the_tiered_store_pass) {
  expect_to_pass(scaled(ONCEGUARD_SIM_SEEDS / 2), world_kind::tiered);
}

TEST(simulation, seeds_of_the_decision_service_pass) {
  // One takes five times as long as one of the engine alone.
  expect_to_pass(scaled(ONCEGUARD_SIM_SEEDS / 4), world_kind::serve);
}

TEST(simulation, seeds_of_the_journal_pass) {
  expect_to_pass(scaled(ONCEGUARD_SIM_SEEDS / 4), world_kind::journal);
}

/// A journal that was never down would pass all of them.
TEST(simulation, a_share_of_the_seeds_takes_the_power_from_a_journal) {
  int cut = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const scene played(seed, world_kind::journal);
    const auto shown = play(played, played.disturbances);
    for (const auto& each : shown.events.all()) cut += each.kind == event_kind::reboot ? 1 : 0;
  }
  EXPECT_GT(cut, 5);
}

}  // namespace
}  // namespace onceguard::sim
