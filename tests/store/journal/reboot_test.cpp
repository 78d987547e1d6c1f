// A journal after a reboot: leases end, records and their retention go on.
#include "store/journal/reopened_journal.hpp"

namespace onceguard::testing {
namespace {

using journal_reboot_test = reopened_journal;

TEST_F(journal_reboot_test, a_reboot_ends_every_lease_and_keeps_every_record) {
  const auto running = claim_of("running");
  reopen().leased(running);
  caller_->completed(claim_of("done"));
  clock_.reboot("boot-2");
  auto& caller = reopen();
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

TEST_F(journal_reboot_test, a_reboot_is_no_renewal_of_what_an_operator_has_seen) {
  const auto running = claim_of("running");
  const auto held = reopen().leased(running);
  const auto seen = caller_->seen(running.id);
  clock_.reboot("boot-2");
  auto& caller = reopen();
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

TEST_F(journal_reboot_test, retention_continues_over_reboots_without_any_claim) {
  reopen().completed(claim_of("k"));
  for (const auto* boot : {"boot-2", "boot-3", "boot-4", "boot-5", "boot-6"}) {
    for (int hour = 0; hour < 6; ++hour) {
      clock_.advance(day / 24);
      if (caller_->sweep() == 1) return;  // each boot loses less than an hour of retention time
    }
    clock_.reboot(boot);
    reopen();
  }
  ADD_FAILURE() << "the record never expired";
}

TEST_F(journal_reboot_test, a_wall_clock_set_back_during_a_reboot_pauses_expiry) {
  reopen().completed(claim_of("k"));
  clock_.reboot("boot-2");
  clock_.step_wall(-10 * day);
  auto& caller = reopen();
  clock_.step_wall(day);  // still before the latest time seen, so the clock is not trusted
  clock_.advance(day - second);
  EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::replay);
  EXPECT_EQ(caller.sweep(), 0u);
}

}  // namespace
}  // namespace onceguard::testing
