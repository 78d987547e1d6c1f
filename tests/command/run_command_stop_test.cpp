// What a stop request ends, and whom a signal reaches.
#include <csignal>
#include <fstream>
#include <future>
#include <optional>

#include <gtest/gtest.h>

#include "command/command_call.hpp"
#include "support/held_at_exec.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using namespace std::chrono_literals;

TEST_F(command_call, a_stop_ends_the_pause_between_attempts) {
  const auto job = shell("exit 1");
  rules_.retries = 5;
  route_policy slow;
  slow.backoff = slow.backoff_max = 1h;
  rules_.policy = &slow;
  std::stop_source stop;
  rules_.stop = stop.get_token();
  auto call =
      std::async(std::launch::async, [&] { return run_command(guard_, of(job), job, rules_); });
  wait_until("the first attempt", [&] { return runs() == 1; });
  stop.request_stop();
  // Of the attempt, if the stop came before its end, or of the pause.
  const auto stopped = call.get();
  const bool of_attempt = stopped && stopped->value.exit_code == 1;
  EXPECT_TRUE(of_attempt || stopped.error().kind == refusal_kind::backoff);
  EXPECT_EQ(runs(), 1);
}

TEST_F(command_call, no_command_begins_after_a_stop) {
  const auto job = shell("exit 0");
  std::stop_source stop;
  rules_.stop = stop.get_token();
  stop.request_stop();
  const auto made = run_command(guard_, of(job), job, rules_);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->value.settled, settle_kind::release);
  EXPECT_EQ(runs(), 0);
  rules_.stop = {};
  EXPECT_EQ(run_command(guard_, of(job), job, rules_)->value.exit_code, 0);
  EXPECT_EQ(runs(), 1);
}

TEST_F(command_call, what_is_killed_before_it_begins_leaves_the_key_free) {
  const auto job = shell("exit 0");
  std::optional<execution<command_result>> made;
  const auto kill = [](pid_t command, pid_t) { ::kill(command, SIGKILL); };
  const held_at_exec held([&] { made = run_command(guard_, of(job), job, rules_); }, kill);
  ASSERT_TRUE(made->has_value());
  EXPECT_EQ((*made)->value.settled, settle_kind::release);
  EXPECT_EQ((*made)->value.exit_code, 75);
  EXPECT_EQ(run_command(guard_, of(job), job, rules_)->value.exit_code, 0);
  EXPECT_EQ(runs(), 1);
}

TEST_F(command_call, what_is_killed_with_its_guardian_as_it_begins_may_have_run) {
  const auto job = shell("exit 0");
  std::optional<execution<command_result>> made;
  const auto kill = [](pid_t, pid_t guardian) { ::kill(guardian, SIGKILL); };
  const held_at_exec held([&] { made = run_command(guard_, of(job), job, rules_); }, kill);
  ASSERT_TRUE(made->has_value());
  EXPECT_EQ((*made)->value.settled, settle_kind::abandon);
  EXPECT_EQ(run_command(guard_, of(job), job, rules_).error().kind, refusal_kind::unknown);
}

TEST_F(command_call, a_stop_ends_the_wait_for_a_twin) {
  const auto job = shell("while [ ! -e '" + folder_.file("go") + "' ]; do sleep 0.02; done");
  auto first = std::async(std::launch::async,
                          [&] { return run_command(guard_, of(job), job, command_rules{}); });
  wait_until("the first", [&] { return runs() == 1; });
  route_policy waits;
  waits.on_busy = on_busy_rule::wait;
  waits.wait = 1h;
  rules_.policy = &waits;
  std::stop_source stop;
  rules_.stop = stop.get_token();
  auto twin =
      std::async(std::launch::async, [&] { return run_command(guard_, of(job), job, rules_); });
  stop.request_stop();
  EXPECT_EQ(twin.get().error().kind, refusal_kind::busy);
  std::ofstream(folder_.file("go")) << "now";
  EXPECT_EQ(first.get()->value.exit_code, 0);
}

TEST_F(command_call, a_running_command_takes_signals) {
  const auto job = shell("trap 'exit 5' USR1; echo ready; while :; do sleep 0.02; done");
  std::promise<running_command*> started;
  rules_.on_start = [&](running_command& begun) { started.set_value(&begun); };
  std::promise<void> ready;
  rules_.on_output = [&, first = true](output_stream, std::string_view) mutable {
    if (std::exchange(first, false)) ready.set_value();
  };
  bool ended = false;
  rules_.on_end = [&] { ended = true; };
  rules_.success = {5};
  auto call =
      std::async(std::launch::async, [&] { return run_command(guard_, of(job), job, rules_); });
  auto* const running = started.get_future().get();
  ready.get_future().wait();
  running->signal(SIGUSR1);
  EXPECT_EQ(call.get()->value.exit_code, 5);
  EXPECT_TRUE(ended);
}

TEST_F(command_call, a_stop_ends_a_probe_that_runs) {
  const auto job = shell("kill -9 $$");
  EXPECT_EQ(run_command(guard_, of(job), job, rules_)->value.exit_code, 128 + SIGKILL);
  route_policy asks;
  asks.unknown = unknown_policy::probe;
  std::stop_source stop;
  guard_params params;
  command question;
  question.words = {"/bin/sh", "-c", "touch '" + folder_.file("asked") + "'; sleep 300"};
  params.probe = probe_by_command(question, 1h, stop.get_token());
  auto asking = guard::open(records_.open(), params).value();
  rules_.policy = &asks;
  auto call =
      std::async(std::launch::async, [&] { return run_command(asking, of(job), job, rules_); });
  wait_until("the question", [&] { return std::ifstream(folder_.file("asked")).is_open(); });
  stop.request_stop();
  EXPECT_EQ(call.get().error().kind, refusal_kind::unknown);
  EXPECT_EQ(runs(), 1);
}

}  // namespace
}  // namespace onceguard::testing
