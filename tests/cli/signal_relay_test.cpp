// Whom a signal to `onceguard exec` reaches, by when it comes.
#include "cli/exec/signal_relay.hpp"

#include <cstdlib>
#include <mutex>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "support/waiting.hpp"

namespace onceguard::cli::exec {
namespace {

using onceguard::testing::wait_until;

class noted_signals final : public running_command {
 public:
  void signal(int number) const noexcept override {
    const std::lock_guard lock(mutex_);
    taken_.push_back(number);
  }
  void resize_terminal() const noexcept override {}
  [[nodiscard]] std::vector<int> taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::vector<int> taken_;
};

/// Another process: what this one sends to itself is for others.
void send_from_elsewhere(int signal) {
  const pid_t sender = ::fork();
  if (sender == 0) {
    ::kill(::getppid(), signal);
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(sender, nullptr, 0), sender);
}

/// In a process of its own, with one thread: a thread that another test has left, and that blocks
/// no signal, would be ended by this one, and the whole program with it. Begun anew and not forked:
/// ThreadSanitizer lets no child of a process with several threads start one.
template <class Body, class End = ::testing::ExitedWithCode>
void alone(Body body, End end = ::testing::ExitedWithCode(0)) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [&body] {
    body();
    std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(run(), end, "");
}

TEST(signals_of_exec, reach_a_command_that_runs) {
  alone([] {
    noted_signals command;
    signal_relay relay;
    relay.send_to(&command);
    send_from_elsewhere(SIGTERM);
    wait_until("the signal", [&] { return command.taken() == std::vector{SIGTERM}; });
    EXPECT_FALSE(relay.stop().stop_requested());
  });
}

TEST(signals_of_exec, request_a_stop_before_and_reach_a_command_that_has_begun_meanwhile) {
  alone([] {
    noted_signals command;
    signal_relay relay;
    send_from_elsewhere(SIGTERM);
    wait_until("the request", [&] { return relay.stop().stop_requested(); });
    relay.send_to(&command);
    EXPECT_EQ(command.taken(), std::vector{SIGTERM});
    // The exit code is the command's: this process is not ended by the signal as well.
    relay.send_to(nullptr);
    relay.end_by_signal(0);
  });
}

TEST(signals_of_exec, reach_the_next_attempt_no_second_time) {
  alone([] {
    noted_signals command;
    signal_relay relay;
    send_from_elsewhere(SIGTERM);
    wait_until("the request", [&] { return relay.stop().stop_requested(); });
    relay.send_to(&command);
    relay.send_to(nullptr);
    relay.send_to(&command);
    EXPECT_EQ(command.taken(), std::vector{SIGTERM});
  });
}

/// A key of the command's terminal ends the command, whose end may be seen before the signal is.
TEST(signals_of_exec, end_exec_as_well_when_the_command_that_a_key_ended_is_gone_before) {
  alone(
      [] {
        noted_signals command;
        signal_relay relay;
        relay.send_to(&command);
        relay.send_to(nullptr);
        ::kill(::getpid(), SIGINT);
        relay.end_by_signal(128 + SIGINT);
      },
      ::testing::KilledBySignal(SIGINT));
}

TEST(signals_of_exec, leave_the_exit_code_of_a_command_that_a_key_did_not_end) {
  alone([] {
    signal_relay relay;
    ::kill(::getpid(), SIGINT);
    relay.end_by_signal(3);
  });
}

}  // namespace
}  // namespace onceguard::cli::exec
