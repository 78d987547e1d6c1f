// The state machine, row by row: records that come from another store.
#include <gtest/gtest.h>

#include "core/decide_walk.hpp"

namespace onceguard {
namespace {

constexpr instant here() {
  instant out;
  out.lease = 5'000;
  out.wall = 9'000'000;
  return out;
}

imported_record moving(record_state state) {
  imported_record out;
  out.stored.about = about();
  out.stored.state = state;
  out.stored.token = 41;
  out.stored.claim_id = claim_id_of(1);
  out.stored.deadline_lease = 1'000'000'000;  // of another clock
  out.lease_over = milliseconds(70);
  out.claimed_ago = milliseconds(800);
  out.settled_ago = milliseconds(100);
  out.retention_left = milliseconds(hour);
  return out;
}

record imported(const imported_record& request) {
  return decide_import(nullptr, request, here()).write.value();
}

TEST(decide_import, durations_count_from_the_clocks_of_the_new_store) {
  auto request = moving(record_state::completed);
  request.retry_after = milliseconds(30);
  const auto r = imported(request);
  EXPECT_EQ(r.deadline_lease, 5'000 - 70);
  EXPECT_EQ(r.retry_at_lease, 5'000 + 30);
  EXPECT_EQ(r.claimed_at_wall, 9'000'000 - 800);
  EXPECT_EQ(r.settled_at_wall, 9'000'000 - 100);
  EXPECT_EQ(r.expires_at_wall, 9'000'000 + hour);
  EXPECT_EQ(r.token, 41u);
  EXPECT_EQ(r.claim_id, claim_id_of(1));
}

TEST(decide_import, no_lease_runs_on) {
  for (const auto state : {record_state::in_progress, record_state::probing}) {
    auto request = moving(state);
    request.lease_over = milliseconds(-hour);  // no such thing
    request.retention_left = milliseconds(0);
    const auto r = imported(request);
    EXPECT_EQ(observe(r, here()), observed_state::unknown);
    EXPECT_EQ(r.settled_at_wall, 0);
    EXPECT_EQ(r.expires_at_wall, 0);
  }
}

TEST(decide_import, what_stands_there_stays) {
  const auto request = moving(record_state::completed);
  auto stored = imported(request);
  const auto reply = [&] { return decide_import(&stored, request, here()); };
  EXPECT_EQ(reply().outcome, import_outcome::already_there);
  EXPECT_FALSE(reply().write);
  stored.state = record_state::released;
  EXPECT_EQ(reply().outcome, import_outcome::conflict);
  stored.state = request.stored.state;
  stored.claim_id = claim_id_of(2);
  EXPECT_EQ(reply().outcome, import_outcome::conflict);
  stored.claim_id = request.stored.claim_id;
  stored.token = 42;
  EXPECT_EQ(reply().outcome, import_outcome::conflict);
  EXPECT_FALSE(reply().write);
  stored.expires_at_wall = here().wall;
  EXPECT_EQ(reply().outcome, import_outcome::imported);
  EXPECT_EQ(reply().write->token, 41u);
}

}  // namespace
}  // namespace onceguard
