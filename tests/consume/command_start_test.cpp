// A message whose command is killed as it is to begin.
#include <csignal>

#include <gtest/gtest.h>

#include "consume/receiver.hpp"
#include "support/held_at_exec.hpp"

namespace onceguard::consume {
namespace {

using messaging::handling;

/// What is said of a message whose command is held up just before it begins.
handling taken_with(const std::function<void(pid_t command, pid_t guardian)>& kill) {
  consume_params params;
  params.subscriber = "billing";
  params.command = {"/bin/true"};
  params.timeout = std::chrono::minutes(1);
  const auto handler = make_command_receiver(params);
  messaging::message received;
  handover given;
  given.received = &received;
  given.id = given.key = "message-1";
  handling out;
  const testing::held_at_exec held([&] { out = handler->take(given); }, kill);
  return out;
}

TEST(command_receiver, a_command_killed_before_it_begins_is_a_failed_attempt) {
  const auto made = taken_with([](pid_t command, pid_t) { ::kill(command, SIGKILL); });
  EXPECT_EQ(made.kind, inbox_result::failed) << made.reason;
  EXPECT_TRUE(made.away) << "it is no message's fault";
}

TEST(command_receiver, a_command_killed_with_its_guardian_may_have_handled_it) {
  const auto made = taken_with([](pid_t, pid_t guardian) { ::kill(guardian, SIGKILL); });
  EXPECT_EQ(made.kind, inbox_result::unknown) << made.reason;
}

}  // namespace
}  // namespace onceguard::consume
