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
  EXPECT_FALSE(watched.away());
  EXPECT_TRUE(events.seen.empty());
}

TEST(outage, calls_that_go_on_failing_are_one) {
  const event_names events;
  outage watched("store");
  watched.call_failed(unreachable);
  EXPECT_FALSE(watched.away());
  pass(std::chrono::milliseconds(550));
  for (int i = 0; i < 9; ++i) watched.call_failed(unreachable);
  EXPECT_TRUE(watched.away());
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
  EXPECT_TRUE(watched.away());
  watched.answered();
  pass(std::chrono::milliseconds(1'050));
  EXPECT_TRUE(watched.away());
  watched.answered();
  EXPECT_FALSE(watched.away());
  EXPECT_EQ(events.seen, (std::vector<std::string>{"store-away", "store-back"}));
}

TEST(outage, another_error_is_no_outage) {
  const event_names events;
  outage watched("store");
  watched.poll_failed(error(errc::store_full, "no room"));
  EXPECT_FALSE(watched.away());
  EXPECT_TRUE(events.seen.empty());
}

}  // namespace
}  // namespace onceguard
