// Whom a signal to `onceguard exec` reaches, by when it comes.
#include "cli/exec/signal_relay.hpp"

#include <mutex>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "support/waiting.hpp"

namespace onceguard::cli {
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

class signals_of_exec : public ::testing::Test {
 protected:
  signals_of_exec() { ::pthread_sigmask(SIG_SETMASK, nullptr, &former_); }
  ~signals_of_exec() override { ::pthread_sigmask(SIG_SETMASK, &former_, nullptr); }

  sigset_t former_{};
  noted_signals command_;
};

TEST_F(signals_of_exec, reach_a_command_that_runs) {
  signal_relay relay;
  relay.send_to(&command_);
  send_from_elsewhere(SIGTERM);
  wait_until("the signal", [&] { return command_.taken() == std::vector{SIGTERM}; });
  EXPECT_FALSE(relay.stop().stop_requested());
}

TEST_F(signals_of_exec, request_a_stop_before_and_reach_a_command_that_has_begun_meanwhile) {
  signal_relay relay;
  send_from_elsewhere(SIGTERM);
  wait_until("the request", [&] { return relay.stop().stop_requested(); });
  relay.send_to(&command_);
  EXPECT_EQ(command_.taken(), std::vector{SIGTERM});
  // The exit code is the command's: this process is not ended by the signal as well.
  relay.send_to(nullptr);
  relay.end_by_signal(0);
}

TEST_F(signals_of_exec, reach_the_next_attempt_no_second_time) {
  signal_relay relay;
  send_from_elsewhere(SIGTERM);
  wait_until("the request", [&] { return relay.stop().stop_requested(); });
  relay.send_to(&command_);
  relay.send_to(nullptr);
  relay.send_to(&command_);
  EXPECT_EQ(command_.taken(), std::vector{SIGTERM});
}

}  // namespace
}  // namespace onceguard::cli
