// An outage of a store is two events, however many calls fail in it, and one failed call is none.
#include "engine/outage.hpp"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.hpp"

namespace onceguard {
namespace {

class event_names final : public base::log_sink {
 public:
  event_names() { base::set_log_sink(this); }
  ~event_names() override { base::set_log_sink(nullptr); }
  void write(const base::event_info& event, base::log_level,
             std::span<const base::log_field>) override {
    seen.emplace_back(event.name);
  }
  std::vector<std::string> seen;
};

const error unreachable(errc::store_unreachable, "no answer");

void pass(std::chrono::milliseconds time) {
  const auto end = base::boot_now() + time;
  while (base::boot_now() < end) std::this_thread::yield();
}

TEST(outage, a_failed_call_among_answered_ones_is_none) {
  const event_names events;
  outage watched("store");
  for (int i = 0; i < 3; ++i) {
    watched.call_failed(unreachable);
    pass(std::chrono::milliseconds(300));
    watched.answered();
  }
  EXPECT_TRUE(events.seen.empty());
}

TEST(outage, calls_that_go_on_failing_are_one) {
  const event_names events;
  outage watched("store");
  watched.call_failed(unreachable);
  EXPECT_TRUE(events.seen.empty());
  pass(std::chrono::milliseconds(550));
  for (int i = 0; i < 9; ++i) watched.call_failed(unreachable);
  EXPECT_EQ(events.seen, std::vector<std::string>{"store-away"});
}

TEST(outage, a_failed_poll_begins_it_and_an_answer_among_failures_does_not_end_it) {
  const event_names events;
  outage watched("store");
  watched.poll_failed(unreachable);
  for (int i = 0; i < 9; ++i) {
    watched.answered();
    watched.call_failed(unreachable);
  }
  watched.answered();
  pass(std::chrono::milliseconds(1'050));
  EXPECT_EQ(events.seen, std::vector<std::string>{"store-away"});
  watched.answered();
  EXPECT_EQ(events.seen, (std::vector<std::string>{"store-away", "store-back"}));
}

TEST(outage, another_error_is_no_outage) {
  const event_names events;
  outage watched("store");
  watched.poll_failed(error(errc::record_unreadable, "damaged"));
  EXPECT_TRUE(events.seen.empty());
  EXPECT_FALSE(watched.health().up);
  EXPECT_EQ(watched.health().why, "damaged");
}

TEST(outage, a_store_that_never_answered_is_not_open_and_says_why) {
  const event_names events;
  outage watched("store");
  EXPECT_FALSE(watched.health().opened);
  EXPECT_EQ(watched.health().since_wall, 0);
  watched.poll_failed(unreachable);
  EXPECT_FALSE(watched.health().opened);
  EXPECT_EQ(watched.health().why, "no answer");
  watched.poll_answered();
  EXPECT_TRUE(watched.health().opened);
  EXPECT_TRUE(watched.health().up);
  EXPECT_EQ(watched.health().why, "");
}

TEST(outage, a_store_that_takes_no_writes_is_away_however_often_it_is_read_from) {
  const event_names events;
  outage watched("store");
  watched.poll_answered();
  watched.writes_checked(unreachable);
  EXPECT_EQ(events.seen, std::vector<std::string>{"store-away"});
  const auto health = watched.health();
  EXPECT_TRUE(health.opened);
  EXPECT_FALSE(health.up);
  EXPECT_EQ(health.why, "it takes no writes: no answer");
  EXPECT_NE(health.since_wall, 0);
  pass(std::chrono::milliseconds(1'050));
  watched.poll_answered();
  watched.answered(false);
  EXPECT_FALSE(watched.health().up);
  EXPECT_EQ(events.seen.size(), 1U);
  watched.writes_checked(result<void>());
  EXPECT_TRUE(watched.health().up);
  EXPECT_EQ(events.seen, (std::vector<std::string>{"store-away", "store-back"}));
}

TEST(outage, calls_that_find_no_room_are_one_whatever_a_check_that_writes_nothing_says) {
  const event_names events;
  outage watched("store");
  watched.poll_answered();
  const error full(errc::store_full, "no room");
  watched.call_failed(full);
  EXPECT_TRUE(watched.health().up);
  pass(std::chrono::milliseconds(550));
  watched.call_failed(full);
  watched.writes_checked(result<void>());
  EXPECT_FALSE(watched.health().up);
  EXPECT_EQ(watched.health().why, "it takes no writes: no room");
  pass(std::chrono::milliseconds(1'050));
  watched.writes_checked(result<void>());
  EXPECT_TRUE(watched.health().up);
  EXPECT_EQ(events.seen, (std::vector<std::string>{"store-away", "store-back"}));
}

TEST(outage, a_store_that_answers_no_poll_is_away_for_that_reason) {
  const event_names events;
  outage watched("store");
  watched.poll_failed(unreachable);
  watched.writes_checked(error(errc::store_unreachable, "nor this"));
  watched.writes_checked(error(errc::stopped, "stopped"));
  EXPECT_EQ(watched.health().why, "no answer");
  watched.poll_answered();
  EXPECT_TRUE(watched.health().up);
}

TEST(outage, it_began_with_the_first_call_that_failed) {
  const event_names events;
  outage watched("store");
  watched.poll_answered();
  const auto begin = base::system_clock().wall_ms();
  watched.call_failed(unreachable);
  const auto failed = base::system_clock().wall_ms();
  pass(std::chrono::milliseconds(300));
  watched.poll_failed(unreachable);
  watched.poll_failed(error(errc::store_unreachable, "still no answer"));
  const auto health = watched.health();
  EXPECT_TRUE(health.opened);
  EXPECT_FALSE(health.up);
  EXPECT_GE(health.since_wall, begin - 100);
  EXPECT_LE(health.since_wall, failed + 100);
  EXPECT_EQ(health.why, "still no answer");
}

}  // namespace
}  // namespace onceguard
