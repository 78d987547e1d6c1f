// The view of a record that operators see, and the form in which it moves to another store.

#include "store/record_view.hpp"

#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/imported_record.hpp"

namespace onceguard::testing {
namespace {

constexpr std::int64_t now_ms = 1'000'000;

instant at_now() {
  instant out;
  out.lease = out.wall = now_ms;
  return out;
}

record record_of(record_state state, std::int64_t deadline) {
  record out;
  out.about = subject_of("k");
  out.state = state;
  out.token = 7;
  out.deadline_lease = deadline;
  out.claimed_at_wall = now_ms - second.count();
  return out;
}

TEST(record_view, an_end_that_has_come_while_expiry_is_paused_is_never_shown_as_no_end) {
  auto stored = record_of(record_state::completed, now_ms);
  for (const auto end : {now_ms, now_ms - day.count()}) {
    stored.expires_at_wall = end;
    auto paused = at_now();
    paused.expiry_paused = true;
    EXPECT_GT(make_view({}, stored, paused).retention_left.count(), 0);
  }
  stored.expires_at_wall = 0;
  EXPECT_EQ(make_view({}, stored, at_now()).retention_left.count(), 0);
}

TEST(record_view, started_work_whose_lease_runs_is_moved_as_work_that_may_have_begun) {
  const auto moved = [](std::int64_t deadline) {
    return make_imported_record(make_view({}, record_of(record_state::started, deadline), at_now()),
                                now_ms)
        .stored.state;
  };
  EXPECT_EQ(moved(now_ms + 1), record_state::in_progress);
  EXPECT_EQ(moved(now_ms), record_state::started);
}

}  // namespace
}  // namespace onceguard::testing
