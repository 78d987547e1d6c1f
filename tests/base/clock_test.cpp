#include "base/clock.hpp"

#include <fcntl.h>
#include <sched.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace onceguard::base {
namespace {

constexpr std::string_view shifted_by_a_day = "boottime 86400 0\n";

/// Runs `check` in a child whose boot clock is a day ahead of its monotonic clock, as after a
/// suspend of that length. Returns the child's exit code; -1: there was no such child.
int exit_code_after_a_suspend(int (*check)()) {
  const auto child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWTIME) != 0) ::_exit(90);
    const int offsets = ::open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
    const auto written = ::write(offsets, shifted_by_a_day.data(), shifted_by_a_day.size());
    if (written != static_cast<ssize_t>(shifted_by_a_day.size())) ::_exit(91);
    const auto inside = ::fork();  // only children get into the new namespace
    if (inside == 0) ::_exit(check());
    int status = 0;
    if (::waitpid(inside, &status, 0) != inside || !WIFEXITED(status)) ::_exit(92);
    ::_exit(WEXITSTATUS(status));
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

std::chrono::seconds ahead_of_the_monotonic_clock(boot_clock::duration time) {
  return std::chrono::duration_cast<std::chrono::seconds>(
      time - std::chrono::steady_clock::now().time_since_epoch());
}

TEST(clocks, count_the_time_of_a_suspend) {
  const auto check = [] {
    const auto at_least = std::chrono::hours(24) - std::chrono::minutes(1);
    if (ahead_of_the_monotonic_clock(boot_now().time_since_epoch()) < at_least) return 1;
    const std::chrono::milliseconds stored(system_clock().boot_ms());
    return ahead_of_the_monotonic_clock(stored) < at_least ? 2 : 0;
  };
  EXPECT_EQ(exit_code_after_a_suspend(check), 0)
      << "1: the process's clock stands still in a suspend; 2: the stores' clock does";
}

TEST(clock, a_time_so_long_after_another_never_wraps) {
  const auto now = boot_now();
  for (const auto length : {std::chrono::milliseconds::max(), for_ever}) {
    EXPECT_EQ(now + length - now, for_ever);
    EXPECT_EQ(now + -length - now, -for_ever);
  }
  EXPECT_LT(now + std::chrono::milliseconds::min(), now);
  EXPECT_EQ(now + std::chrono::milliseconds(1) - now, std::chrono::milliseconds(1));
}

}  // namespace
}  // namespace onceguard::base
