#include "base/timer_wheel.hpp"

#include <gtest/gtest.h>

#include "base/for_ever.hpp"

namespace onceguard::base {
namespace {

using std::chrono::milliseconds;

class noted_deadline final : public deadline {
 public:
  bool is_over = false;

 private:
  void expired() override { is_over = true; }
};

/// What there is to do at once. True: and nothing is left to wait for.
bool poll_is_all(boost::asio::io_context& io) {
  io.restart();
  io.poll();
  return io.stopped();
}

TEST(timer_wheel, occupies_its_context_after_the_last_deadline_until_it_rests) {
  boost::asio::io_context io(1);
  auto& wheel = timer_wheel::of(io);
  noted_deadline one;
  bool occupied = false;
  for (int i = 0; i < 1'000 && !occupied; ++i) {  // a busy machine may look after the tick
    one.arm(wheel, milliseconds(60'000));
    one.disarm();
    occupied = !poll_is_all(io);
  }
  EXPECT_TRUE(occupied) << "the tick is still to come";
  wheel.rest();
  EXPECT_TRUE(poll_is_all(io));
  EXPECT_FALSE(one.is_over);
}

TEST(timer_wheel, does_not_rest_while_a_deadline_is_armed) {
  boost::asio::io_context io(1);
  auto& wheel = timer_wheel::of(io);
  noted_deadline one;
  one.arm(wheel, milliseconds(1));
  wheel.rest();
  io.run();
  EXPECT_TRUE(one.is_over);
}

TEST(timer_wheel, turns_for_a_deadline_that_is_armed_right_after_its_rest) {
  boost::asio::io_context io(1);
  auto& wheel = timer_wheel::of(io);
  noted_deadline one;
  one.arm(wheel, milliseconds(1));
  one.disarm();
  wheel.rest();
  one.arm(wheel, milliseconds(1));
  io.run();
  EXPECT_TRUE(one.is_over);
}

TEST(timer_wheel, does_not_turn_for_a_deadline_that_never_comes) {
  boost::asio::io_context io(1);
  auto& wheel = timer_wheel::of(io);
  noted_deadline one;
  one.arm(wheel, milliseconds(1));
  one.arm(wheel, for_ever);
  EXPECT_FALSE(one.armed());
  wheel.rest();
  EXPECT_TRUE(poll_is_all(io));
}

}  // namespace
}  // namespace onceguard::base
