// When work may begin while what it needs is away.
#include "messaging/subscription/circuit_breaker.hpp"

#include <gtest/gtest.h>

#include "messaging/subscription/worker_pool.hpp"

namespace onceguard::messaging {
namespace {

using namespace std::chrono_literals;

class circuit_breaker_test : public ::testing::Test {
 protected:
  /// The pause until the next probe is `wanted`.
  void expect_pause(milliseconds wanted) const {
    EXPECT_FALSE(breaker_.may_probe(now_ + wanted - 1ms));
    EXPECT_TRUE(breaker_.may_probe(now_ + wanted));
  }
  void fail_probe() {
    breaker_.begin_probe();
    EXPECT_FALSE(breaker_.note(work_sign::target_away, true, now_));
  }

  const circuit_breaker::time_point now_{};
  circuit_breaker breaker_{10ms};
};

TEST_F(circuit_breaker_test, opens_once_and_lets_one_probe_begin) {
  EXPECT_TRUE(breaker_.is_closed());
  EXPECT_TRUE(breaker_.note(work_sign::store_away, false, now_));
  EXPECT_FALSE(breaker_.is_closed());
  EXPECT_FALSE(breaker_.note(work_sign::store_away, false, now_)) << "it is open already";
  expect_pause(10ms);
  breaker_.begin_probe();
  EXPECT_FALSE(breaker_.may_probe(now_ + 1h)) << "one at a time";
}

TEST_F(circuit_breaker_test, pauses_grow_with_each_probe_that_fails_up_to_the_longest) {
  breaker_.note(work_sign::target_away, false, now_);
  for (const auto pause : {20ms, 40ms, 80ms, 160ms}) {
    fail_probe();
    expect_pause(pause);
  }
  for (int i = 0; i < 20; ++i) fail_probe();
  expect_pause(retry_max);
}

TEST_F(circuit_breaker_test, what_began_before_makes_no_pause_longer) {
  breaker_.note(work_sign::target_away, false, now_);
  breaker_.begin_probe();
  breaker_.note(work_sign::target_away, false, now_);
  EXPECT_FALSE(breaker_.may_probe(now_ + 1h)) << "the probe still runs";
  breaker_.note(work_sign::target_away, true, now_);
  expect_pause(20ms);
}

TEST_F(circuit_breaker_test, a_success_closes_it_and_ends_the_long_pauses) {
  breaker_.note(work_sign::target_away, false, now_);
  fail_probe();
  breaker_.begin_probe();
  EXPECT_TRUE(breaker_.note(work_sign::works, true, now_));
  EXPECT_TRUE(breaker_.is_closed());
  breaker_.note(work_sign::target_away, false, now_);
  expect_pause(10ms);
}

TEST_F(circuit_breaker_test, an_answer_of_the_store_is_none_of_the_endpoint) {
  breaker_.note(work_sign::target_away, false, now_);
  breaker_.begin_probe();
  EXPECT_FALSE(breaker_.note(work_sign::store_works, true, now_)) << "a duplicate, for example";
  EXPECT_FALSE(breaker_.is_closed());
  EXPECT_TRUE(breaker_.may_probe(now_ + 10ms)) << "another one may tell";
  breaker_.begin_probe();
  breaker_.note(work_sign::works, true, now_);
  breaker_.note(work_sign::store_away, false, now_);
  breaker_.begin_probe();
  EXPECT_TRUE(breaker_.note(work_sign::store_works, true, now_));
}

TEST_F(circuit_breaker_test, a_doubtful_end_opens_nothing_and_closes_nothing) {
  EXPECT_FALSE(breaker_.note(work_sign::doubtful, false, now_));
  EXPECT_TRUE(breaker_.is_closed());
  breaker_.note(work_sign::target_away, false, now_);
  breaker_.begin_probe();
  EXPECT_FALSE(breaker_.note(work_sign::doubtful, true, now_));
  expect_pause(20ms);
}

TEST_F(circuit_breaker_test, errors_about_one_message_are_no_outage) {
  EXPECT_EQ(sign_of(error(errc::record_unreadable, "damaged")), work_sign::store_works);
  EXPECT_EQ(sign_of(error(errc::conflict, "refused")), work_sign::store_works);
  EXPECT_EQ(sign_of(error(errc::store_unreachable, "away")), work_sign::store_away);
  EXPECT_EQ(sign_of(error(errc::broker_unreachable, "away")), work_sign::store_away);
}

}  // namespace
}  // namespace onceguard::messaging
