// A successor that does not come to take requests: how long it is waited for, and what becomes of
// it.
#include "cli/services/succession.hpp"

#include <csignal>
#include <future>
#include <optional>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include "cli/services/start_limit.hpp"

namespace onceguard::cli::services {
namespace {

using namespace std::chrono_literals;

class succession_limits : public ::testing::Test {
 protected:
  // The successor is nobody's child, so this process becomes that of orphans.
  succession_limits() { ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }
  ~succession_limits() override { ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0); }

  /// The signal that ended the process; 0: it ended by itself.
  static int signal_that_ended(pid_t process) {
    int status = 0;
    EXPECT_EQ(::waitpid(process, &status, 0), process);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

  boost::asio::io_context io_;
  process::successor_starter hanging_ =
      process::successor_starter::begin({"/bin/sleep", "600"}, {});
};

TEST_F(succession_limits, a_successor_that_says_nothing_is_killed_when_its_time_is_over) {
  succession one(io_, hanging_, 50ms);
  std::optional<pid_t> failed;
  const auto begun = one.begin(
      {}, [](const auto&) { FAIL() << "it says that it serves"; },
      [&failed](pid_t successor) { failed = successor; });
  ASSERT_TRUE(begun) << begun.error().detail;
  EXPECT_TRUE(one.under_way());
  io_.run();
  EXPECT_EQ(failed, *begun);
  EXPECT_FALSE(one.under_way());
  EXPECT_EQ(signal_that_ended(*begun), SIGKILL);
}

TEST_F(succession_limits, a_successor_does_not_outlive_a_process_that_ends_by_an_exception) {
  pid_t successor = 0;
  try {
    succession one(io_, hanging_);
    const auto begun = one.begin(
        {}, [](const auto&) {}, [](pid_t) {});
    ASSERT_TRUE(begun) << begun.error().detail;
    successor = *begun;
    throw std::runtime_error("as any of the gateway's");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(signal_that_ended(successor), SIGKILL);
}

TEST_F(succession_limits, a_program_that_can_not_be_run_is_refused_with_its_reason) {
  auto starter = process::successor_starter::begin({"/no/such/program"}, {});
  succession one(io_, starter);
  const auto begun = one.begin(
      {}, [](const auto&) {}, [](pid_t) {});
  ASSERT_FALSE(begun);
  EXPECT_NE(begun.error().detail.find("/no/such/program: No such file"), std::string::npos)
      << begun.error().detail;
  EXPECT_FALSE(one.under_way());
}

TEST(start_limit, ends_a_start_that_takes_too_long) {
  std::promise<void> ended;
  const start_limit limit(1ms, [&ended] { ended.set_value(); });
  EXPECT_EQ(ended.get_future().wait_for(60s), std::future_status::ready);
}

TEST(start_limit, leaves_a_start_alone_that_is_over) {
  bool ended = false;
  {
    const start_limit limit(1h, [&ended] { ended = true; });
  }
  EXPECT_FALSE(ended);
}

}  // namespace
}  // namespace onceguard::cli::services
