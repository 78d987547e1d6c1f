// Calls without a word: what a record says of them afterwards.
#include "calls_in_doubt.hpp"

#include <gtest/gtest.h>

namespace onceguard::sim {
namespace {

record_id some_id(unsigned char number) {
  record_id out;
  out.fill(number);
  return out;
}

claim_id holder(unsigned char number) {
  claim_id out;
  out.fill(number);
  return out;
}

/// A record under a lease that runs.
record_view under(token number, const claim_id& claimant) {
  record_view out;
  out.id = some_id(1);
  out.stored.state = record_state::in_progress;
  out.stored.token = number;
  out.stored.claim_id = claimant;
  out.lease_left = milliseconds(500);
  return out;
}

claim claim_by(const claim_id& claimant) {
  claim out;
  out.id = some_id(1);
  out.claim_id = claimant;
  return out;
}

settlement end_of(token number, settle_kind kind) {
  settlement out;
  out.id = some_id(1);
  out.token = number;
  out.kind = kind;
  return out;
}

std::size_t done(const calls_in_doubt& all, const record_view& found, token noted) {
  return all.carried_out(found, noted).size();
}

TEST(calls_in_doubt, a_claim_was_granted_if_the_record_has_its_number_and_nobody_knew_it) {
  calls_in_doubt all;
  all.add(claim_by(holder(7)));
  EXPECT_EQ(done(all, under(5, holder(7)), 4), 1u);
  EXPECT_EQ(done(all, under(5, holder(7)), 5), 0u);
  EXPECT_EQ(done(all, under(5, holder(8)), 4), 0u);
}

TEST(calls_in_doubt, a_settle_was_done_if_the_record_has_ended_in_its_way) {
  calls_in_doubt all;
  all.add(end_of(5, settle_kind::complete));
  auto found = under(5, holder(7));
  EXPECT_EQ(done(all, found, 5), 0u);
  found.stored.state = record_state::failed;
  EXPECT_EQ(done(all, found, 5), 0u);
  found.stored.state = record_state::completed;
  EXPECT_EQ(done(all, found, 5), 1u);
}

TEST(calls_in_doubt, what_a_later_claim_of_the_same_group_stands_on_was_done_before_it) {
  calls_in_doubt all;
  all.add(end_of(5, settle_kind::release));
  all.add(claim_by(holder(8)));
  const auto both = all.carried_out(under(6, holder(8)), 5);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<settlement>(both[0]));
  EXPECT_TRUE(std::holds_alternative<claim>(both[1]));
  EXPECT_EQ(done(all, under(5, holder(7)), 5), 0u);
}

TEST(calls_in_doubt, a_renewal_says_nothing_once_a_boot_has_ended_the_lease_and_a_dispatch_does) {
  calls_in_doubt all;
  extension renewal;
  renewal.id = some_id(1);
  renewal.token = 5;
  all.add(renewal);
  auto found = under(5, holder(7));
  EXPECT_EQ(done(all, found, 5), 1u);
  found.lease_left = milliseconds(0);
  EXPECT_EQ(done(all, found, 5), 0u);
  renewal.dispatch = true;
  all.add(renewal);
  EXPECT_EQ(done(all, found, 5), 1u);
  found.stored.state = record_state::started;
  EXPECT_EQ(done(all, found, 5), 0u);
}

TEST(calls_in_doubt, each_record_is_looked_at_once) {
  calls_in_doubt all;
  auto other = claim_by(holder(9));
  other.id = some_id(2);
  all.add(other);
  all.add(claim_by(holder(7)));
  all.add(claim_by(holder(8)));
  EXPECT_EQ(all.records(), (std::vector<record_id>{some_id(1), some_id(2)}));
  all.clear();
  EXPECT_TRUE(all.records().empty());
}

}  // namespace
}  // namespace onceguard::sim
