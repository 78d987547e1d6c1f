// Commands as child processes: their end, their descendants, and what they inherit.
#include "process/child.hpp"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "process/channel.hpp"
#include "support/held_at_exec.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace onceguard::process {
namespace {

using namespace std::chrono_literals;
using testing::wait_until;

child_params shell(const std::string& script) {
  child_params out;
  out.words = {"/bin/sh", "-c", script};
  out.environment = environment_behind({});
  return out;
}

int exit_code_of(child& running) {
  EXPECT_TRUE(running.wait(base::boot_now() + 60s));
  EXPECT_TRUE(running.status().has_value());
  return running.status() ? WEXITSTATUS(*running.status()) : -1;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The process that wrote its id there.
pid_t process_in(const std::string& path) {
  pid_t out = 0;
  wait_until("the id of a process", [&] {
    std::ifstream(path) >> out;
    return out > 0;
  });
  return out;
}

bool is_alive(pid_t process) {
  const auto stat = text_of("/proc/" + std::to_string(process) + "/stat");
  return !stat.empty() && stat.at(stat.rfind(')') + 2) != 'Z';
}

class process_child : public ::testing::Test {
 protected:
  testing::temporary_folder folder_;
};

TEST_F(process_child, its_exit_code_arrives) {
  for (const int code : {0, 1, 75, 255}) {
    auto running = child::start(shell("exit " + std::to_string(code))).value();
    EXPECT_EQ(exit_code_of(running), code);
  }
}

TEST_F(process_child, its_signal_arrives) {
  auto running = child::start(shell("kill -USR1 $$")).value();
  ASSERT_TRUE(running.wait(base::boot_now() + 60s));
  EXPECT_EQ(WTERMSIG(running.status().value()), SIGUSR1);
}

TEST_F(process_child, a_missing_program_is_an_error_with_its_number) {
  child_params params;
  params.words = {"/no/such/program"};
  const auto missing = child::start(params);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().number, ENOENT);
  EXPECT_NE(missing.error().detail.find("/no/such/program"), std::string::npos);
  params.words = {"/etc/passwd"};
  EXPECT_EQ(child::start(params).error().number, EACCES);
  params.words = {};
  EXPECT_EQ(child::start(params).error().number, ENOENT);
  params = shell("true");
  params.folder = "/no/such/folder";
  EXPECT_EQ(child::start(params).error().number, ENOENT);
}

TEST_F(process_child, a_command_that_is_killed_before_it_begins_did_not_start) {
  start_failure seen;
  const auto kill = [](pid_t command, pid_t) { ::kill(command, SIGKILL); };
  const testing::held_at_exec held([&] { seen = child::start(shell("true")).error(); }, kill);
  EXPECT_EQ(seen.number, EAGAIN);
  EXPECT_FALSE(seen.may_have_begun);
  EXPECT_NE(seen.detail.find("signal 9"), std::string::npos) << seen.detail;
}

TEST_F(process_child, a_command_whose_guardian_is_killed_as_it_begins_may_have_begun) {
  start_failure seen;
  const auto kill = [](pid_t, pid_t guardian) { ::kill(guardian, SIGKILL); };
  const testing::held_at_exec held([&] { seen = child::start(shell("true")).error(); }, kill);
  EXPECT_TRUE(seen.may_have_begun) << seen.detail;
}

TEST_F(process_child, the_wait_ends_when_its_time_is_over) {
  auto running = child::start(shell("sleep 300")).value();
  const auto begin = base::boot_now();
  EXPECT_FALSE(running.wait(begin + 50ms));
  EXPECT_GE(base::boot_now() - begin, 50ms);
  EXPECT_FALSE(running.ended());
}

TEST_F(process_child, the_end_of_an_orphan_is_not_that_of_the_command) {
  // The guardian is the parent of what the command has left behind, and takes its end.
  const auto file = folder_.file("id");
  auto running = child::start(shell("(sh -c 'echo $$ >" + file + "; exit 3' &)\n" + "until [ -s " +
                                    file + " ]; do sleep 0.01; done\n" + "while kill -0 $(cat " +
                                    file + ") 2>/dev/null; do " + "sleep 0.01; done\nexit 7"))
                     .value();
  EXPECT_EQ(exit_code_of(running), 7);
}

TEST_F(process_child, all_descendants_end_with_the_object) {
  const auto file = folder_.file("id");
  {
    // Orphans in sessions of their own, whose parents are gone.
    auto running = child::start(shell("(setsid sh -c '(trap \"\" TERM; sleep 300 & echo $! >" +
                                      file + "; wait) &' &); sleep 300"))
                       .value();
    EXPECT_TRUE(is_alive(process_in(file)));
  }
  EXPECT_FALSE(is_alive(process_in(file)));
}

TEST_F(process_child, what_is_left_goes_on) {
  const auto file = folder_.file("id");
  auto running = child::start(shell("sleep 300 >/dev/null 2>&1 & echo $! >" + file)).value();
  EXPECT_EQ(exit_code_of(running), 0);
  running.leave();
  const auto left = process_in(file);
  EXPECT_TRUE(is_alive(left));
  ::kill(left, SIGKILL);
}

TEST_F(process_child, all_descendants_end_when_the_process_that_started_them_is_killed) {
  const auto file = folder_.file("id");
  const pid_t parent = ::fork();
  if (parent == 0) {
    auto running = child::start(shell("(sleep 300 & echo $! >" + file + "; wait) & wait")).value();
    ::pause();
    ::_exit(0);
  }
  const auto grandchild = process_in(file);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  wait_until("the end of the grandchild", [&] { return !is_alive(grandchild); });
}

TEST_F(process_child, a_killed_guardian_takes_the_command_along) {
  const auto file = folder_.file("id");
  auto running = child::start(shell("echo $$ >" + file + "; exec sleep 300")).value();
  const auto command = process_in(file);
  const auto stat = text_of("/proc/" + std::to_string(command) + "/stat");
  ::kill(static_cast<pid_t>(std::stol(stat.substr(stat.rfind(')') + 4))), SIGKILL);
  EXPECT_TRUE(running.wait(base::boot_now() + 60s));
  EXPECT_FALSE(running.status().has_value());
  wait_until("the end of the command", [&] { return !is_alive(command); });
}

TEST_F(process_child, a_signal_reaches_the_command) {
  auto output = make_output_pipe().value();
  auto params = shell("trap 'exit 9' TERM; echo ready; while :; do sleep 0.02; done");
  params.streams[1] = output.there.get();
  auto running = child::start(params).value();
  char ready = 0;
  ASSERT_EQ(::read(output.here.get(), &ready, 1), 1);
  running.signal(SIGTERM);
  EXPECT_EQ(exit_code_of(running), 9);
  running.signal(SIGTERM);  // nobody is there any more
}

TEST_F(process_child, no_descriptor_of_this_process_is_inherited) {
  const base::descriptor open(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const base::descriptor high(::fcntl(open.get(), F_DUPFD_CLOEXEC, 100));
  const auto exists = [](int number) {
    return "[ -e /proc/self/fd/" + std::to_string(number) + " ]";
  };
  auto running = child::start(shell(exists(high.get()) + " && exit 1; " + exists(2))).value();
  EXPECT_EQ(exit_code_of(running), 0);
}

TEST_F(process_child, the_guardian_holds_nothing_of_this_process) {
  // A lock that a descriptor holds would live on in it.
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const base::descriptor reading(ends[0]);
  base::descriptor writing(ends[1]);
  auto running = child::start(shell("exec sleep 300 >/dev/null 2>&1")).value();
  writing.close();
  char byte = 0;
  EXPECT_EQ(::read(reading.get(), &byte, 1), 0);  // the end
}

TEST_F(process_child, variables_are_replaced_and_the_first_of_a_name_counts) {
  ::setenv("ONCEGUARD_TEST_VARIABLE", "old", 1);
  const auto made = environment_behind({"ONCEGUARD_TEST_VARIABLE=new"});
  EXPECT_EQ(made.front(), "ONCEGUARD_TEST_VARIABLE=new");
  EXPECT_EQ(std::ranges::count_if(
                made, [](const auto& one) { return one.starts_with("ONCEGUARD_TEST_VARIABLE="); }),
            1);
  ::unsetenv("ONCEGUARD_TEST_VARIABLE");
  ::setenv("ONCEGUARD_TEST_VARIABLE_TOO", "kept", 1);
  const auto longer = environment_behind({"ONCEGUARD_TEST_VARIABLE=new"});
  EXPECT_EQ(std::ranges::count(longer, "ONCEGUARD_TEST_VARIABLE_TOO=kept"), 1);
  ::unsetenv("ONCEGUARD_TEST_VARIABLE_TOO");
}

TEST_F(process_child, many_threads_start_and_end_commands) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&wrong, i] {
      for (int round = 0; round < 5; ++round) {
        auto running = child::start(shell("exit " + std::to_string(i))).value();
        if (exit_code_of(running) != i) ++wrong;
      }
    });
  }
  for (auto& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(process_child, input_is_fed_within_its_time) {
  auto input = make_input_pipe().value();
  auto params = shell("wc -c >" + folder_.file("count"));
  params.streams[0] = input.there.get();
  auto running = child::start(params).value();
  input.there.close();
  const std::string much(1'000'000, 'x');
  std::string_view left = much;
  EXPECT_TRUE(feed(input.here, left, base::boot_now() + 60s));
  EXPECT_EQ(exit_code_of(running), 0);
  EXPECT_EQ(text_of(folder_.file("count")), "1000000\n");
  auto unread = make_input_pipe().value();
  left = much;
  EXPECT_FALSE(feed(unread.here, left, base::boot_now() + 50ms));
  EXPECT_LT(left.size(), much.size());
  unread.there.close();
  EXPECT_TRUE(feed(unread.here, left, base::boot_now() + 60s));
}

TEST_F(process_child, the_guardian_ends_what_runs_beyond_its_limit) {
  const auto file = folder_.file("id");
  // On a busy machine the limit may end it before it has written that.
  for (int attempt = 0; attempt < 5 && text_of(file).empty(); ++attempt) {
    auto params = shell("trap '' TERM; (setsid sleep 300 & echo $! >" + file + "); sleep 300");
    params.limit.end = base::boot_now() + 2s;
    auto running = child::start(params).value();
    EXPECT_TRUE(running.wait(base::boot_now() + 60s));
    EXPECT_GE(base::boot_now(), params.limit.end);
    EXPECT_TRUE(running.time_is_over());
    // Before this process's own end of the child kills what is left.
    if (!text_of(file).empty()) {
      EXPECT_FALSE(is_alive(process_in(file)));
    }
  }
  EXPECT_FALSE(text_of(file).empty());
}

TEST_F(process_child, a_limit_warns_first) {
  auto params = shell("trap 'exit 9' TERM; echo >" + folder_.file("ready") +
                      "; while :; do sleep 0.02; done");
  auto running = child::start(params).value();
  wait_until("the command", [&] { return !text_of(folder_.file("ready")).empty(); });
  running.limit({base::boot_now() + 10ms, base::boot_now() + 1h});
  EXPECT_EQ(exit_code_of(running), 9);
  EXPECT_TRUE(running.time_is_over());
}

TEST_F(process_child, a_limit_can_be_moved) {
  bool goes_on = false;
  for (int attempt = 0; !goes_on && attempt < 3; ++attempt) {  // a busy machine may be too late
    auto params = shell("while [ ! -e " + folder_.file("go") + " ]; do sleep 0.02; done");
    params.limit.end = base::boot_now() + 2s;
    auto running = child::start(params).value();
    running.limit({});
    goes_on = !running.wait(params.limit.end + 100ms);
    if (!goes_on) continue;
    std::ofstream(folder_.file("go")) << "now";
    EXPECT_EQ(exit_code_of(running), 0);
    EXPECT_FALSE(running.time_is_over());
  }
  EXPECT_TRUE(goes_on);
}

TEST_F(process_child, the_stop_of_a_command_is_reported) {
  auto running = child::start(shell("kill -STOP $$; exit 3")).value();
  wait_until("the stop", [&] { return !running.ended() && running.take_stop() == SIGSTOP; });
  running.signal(SIGCONT);
  EXPECT_EQ(exit_code_of(running), 3);
}

TEST_F(process_child, a_number_that_is_inherited_is_not_free) {
  const int first = free_number();
  const base::descriptor inherited(::fcntl(0, F_DUPFD, first));
  ASSERT_EQ(inherited.get(), first);
  EXPECT_GT(free_number(), first);
}

}  // namespace
}  // namespace onceguard::process
