// The SQLite store's clocks over reboots, restarts and steps of the wall clock.
#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {
namespace {

using sqlite::sqlite_params;
using sqlite::sqlite_store;

class sqlite_clock_test : public ::testing::Test {
 protected:
  std::unique_ptr<sqlite_store> open() {
    sqlite_params sqlite;
    sqlite.path = folder_.file("store.db");
    sqlite.clock = &clock_;
    auto opened = sqlite_store::open(sqlite);
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }

  temporary_folder folder_;
  base::manual_clock clock_;
};

TEST_F(sqlite_clock_test, a_reboot_ends_every_lease_and_keeps_every_record) {
  const auto running = claim_of("running");
  auto store = open();
  blocking_store caller(*store);
  caller.leased(running);
  caller.completed(claim_of("done"));
  store->stop();
  store.reset();
  clock_.reboot("boot-2");
  store = open();
  caller.move_to(*store);
  EXPECT_EQ(caller.claim(claim_of("running")).kind, verdict_kind::unknown);
  EXPECT_EQ(caller.claim(claim_of("done")).kind, verdict_kind::replay);
  EXPECT_LE(caller.find(running.id)->lease_left.count(), 0);
  // The upstream may run on another machine, which keeps working while this machine reboots.
  resolution request;
  request.id = running.id;
  EXPECT_EQ(caller.resolve(request).outcome, resolve_outcome::running);
  clock_.advance(running.about->run_timeout);
  EXPECT_EQ(caller.resolve(request).outcome, resolve_outcome::done);
}

TEST_F(sqlite_clock_test, a_reboot_is_no_renewal_of_what_an_operator_has_seen) {
  const auto running = claim_of("running");
  auto store = open();
  blocking_store caller(*store);
  const auto held = caller.leased(running);
  const auto seen = caller.seen(running.id);
  store->stop();
  store.reset();
  clock_.reboot("boot-2");
  store = open();
  caller.move_to(*store);
  // What was seen before the boot is the record as it stands, and so is what is seen now.
  resolution change;
  change.id = running.id;
  change.token = seen.stored.token;
  change.revision = seen.revision;
  const auto now = caller.seen(running.id);
  EXPECT_EQ(now.state, observed_state::unknown);
  EXPECT_EQ(now.revision, seen.revision);
  EXPECT_EQ(caller.list().records.at(0).revision, seen.revision);
  EXPECT_EQ(caller.resolve(change).outcome, resolve_outcome::running);
  clock_.advance(running.about->run_timeout);
  // But its holder may come back, from another machine: that is a renewal, in whichever boot.
  ASSERT_TRUE(caller.extend(extend_of(running, held)));
  clock_.advance(lease_length + running.about->run_timeout);
  EXPECT_EQ(caller.resolve(change).outcome, resolve_outcome::changed);
  change.revision = caller.seen(running.id).revision;
  EXPECT_EQ(caller.resolve(change).outcome, resolve_outcome::done);
}

TEST_F(sqlite_clock_test,
       work_elsewhere_has_its_time_if_the_file_moves_to_a_machine_that_runs_long) {
  const auto running = claim_of("running");
  auto store = open();
  blocking_store caller(*store);
  caller.leased(running);
  store->stop();
  store.reset();
  clock_.reboot("boot-of-another-machine");
  clock_.advance(3 * day);
  store = open();
  caller.move_to(*store);
  EXPECT_EQ(caller.find(running.id)->state, observed_state::unknown);
  resolution request;
  request.id = running.id;
  EXPECT_EQ(caller.resolve(request).outcome, resolve_outcome::running);
  clock_.advance(running.about->run_timeout);
  EXPECT_EQ(caller.resolve(request).outcome, resolve_outcome::done);
}

TEST_F(sqlite_clock_test, a_wall_clock_set_back_during_a_reboot_pauses_expiry) {
  auto store = open();
  blocking_store caller(*store);
  caller.completed(claim_of("k"));
  store->stop();
  store.reset();
  clock_.reboot("boot-2");
  clock_.step_wall(-10 * day);
  store = open();
  caller.move_to(*store);
  clock_.step_wall(day);  // still before the latest time seen, so the clock is not trusted
  clock_.advance(day - second);
  EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::replay);
  EXPECT_EQ(caller.sweep(), 0u);
}

TEST_F(sqlite_clock_test, a_wall_clock_that_is_ahead_after_a_reboot_ends_no_retention_early) {
  auto store = open();
  blocking_store caller(*store);
  clock_.step_wall(-3 * day);
  caller.completed(claim_of("k"));
  for (const auto* boot : {"boot-2", "boot-3", "boot-4"}) {
    store->stop();
    store.reset();
    clock_.reboot(boot);
    clock_.step_wall(3 * day);  // the clock is corrected, or the machine was off for three days
    store = open();
    caller.move_to(*store);
    EXPECT_EQ(caller.counted(observed_state::completed), 1u);
    EXPECT_EQ(caller.sweep(), 0u);  // retention continues with the first write
    clock_.advance(day / 4);
    EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::replay);
    EXPECT_EQ(caller.sweep(), 0u);
  }
  clock_.advance(day / 4);
  EXPECT_EQ(caller.sweep(), 1u);
}

TEST_F(sqlite_clock_test, retention_continues_over_reboots_without_any_claim) {
  auto store = open();
  blocking_store caller(*store);
  caller.completed(claim_of("k"));
  for (const auto* boot : {"boot-2", "boot-3", "boot-4", "boot-5", "boot-6"}) {
    for (int hour = 0; hour < 6; ++hour) {
      clock_.advance(day / 24);
      if (caller.sweep() == 1) return;  // each boot loses less than an hour of retention time
    }
    store->stop();
    store.reset();
    clock_.reboot(boot);
    store = open();
    caller.move_to(*store);
  }
  FAIL() << "it never expired";
}

TEST_F(sqlite_clock_test, expiry_paused_by_a_clock_step_stays_paused_over_a_restart) {
  auto store = open();
  blocking_store caller(*store);
  caller.completed(claim_of("k"));
  clock_.advance(day);
  clock_.step_wall(2 * day);
  EXPECT_EQ(caller.sweep(), 0u);
  store->stop();
  store.reset();
  store = open();
  caller.move_to(*store);
  EXPECT_EQ(caller.sweep(), 0u);
  EXPECT_EQ(caller.counted(observed_state::completed), 1u);
  clock_.advance(milliseconds(3'600'000));
  EXPECT_EQ(caller.sweep(), 1u);
}

TEST_F(sqlite_clock_test, a_back_off_ends_with_the_boot_that_counted_it) {
  auto store = open();
  blocking_store caller(*store);
  const auto request = claim_of("k");
  caller.settle(settle_of(request, caller.leased(request), settle_kind::fail));
  EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::backoff);
  store->stop();
  store.reset();
  clock_.reboot("boot-2");
  store = open();
  caller.move_to(*store);
  // By the clock of the new boot, the pause would last for as long as the machine had been running.
  EXPECT_EQ(caller.leased(claim_of("k")).attempt, 2u);
}

TEST_F(sqlite_clock_test, a_machine_that_tells_no_boot_id_is_refused) {
  clock_.reboot("");
  EXPECT_THROW(open(), std::runtime_error);
}

}  // namespace
}  // namespace onceguard::testing
