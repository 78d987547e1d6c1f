// A command as a child process, in a process group and a session of its own. All processes that
// come of it end with this process, however this process ends.
#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>

#include "base/descriptor.hpp"
#include "process/channel.hpp"
#include "process/terminal.hpp"

namespace onceguard::process {

/// Until when a command may run. A machine that was suspended, or a process that was stopped, does
/// not hold it up.
struct run_limit {
  time_point warning = time_point::max();  ///< then it gets SIGTERM
  time_point end = time_point::max();      ///< then all that came of it is killed
  /// Equal in both.
  friend bool operator==(const run_limit&, const run_limit&) = default;
};

/// How long before its lease is over a command is to be killed. What is killed takes a moment to
/// end, on a busy machine a long one, and another attempt may run once the lease is over. A lease
/// is renewed long before that moment.
[[nodiscard]] constexpr std::chrono::milliseconds killed_before_end(
    std::chrono::milliseconds lease) noexcept {
  constexpr std::chrono::milliseconds longest_death{250};
  return std::min(longest_death, lease / 20);
}

/// What runs, and with what.
struct child_params {
  /// The program, looked for in PATH unless it contains a slash, and its arguments: no shell.
  std::vector<std::string> words;
  /// All variables, as NAME=value; of two with one name the first counts.
  std::vector<std::string> environment;
  /// The working directory; empty: this process's.
  std::string folder;
  /// Become the descriptors 0 to 2; -1: as in this process.
  std::array<int, 3> streams{-1, -1, -1};
  /// Becomes the descriptor `report_number`; -1: there is none. See free_number().
  int report_end = -1;
  int report_number = 3;
  /// The ends here of the streams, at most three: what the command leaves running may write to them
  /// after leave(). With a terminal, the end here of that terminal comes first.
  std::vector<int> held;
  /// Becomes the command's controlling terminal; null: it has none.
  const terminal* shown_on = nullptr;
  /// The command has the keys of its terminal from the beginning. Otherwise it is stopped when it
  /// asks for them.
  bool foreground = false;
  /// Enforced also while this process is stopped.
  run_limit limit;
  /// The mask of blocked signals; empty: none is blocked.
  std::optional<sigset_t> mask;
};

/// Why a command did not start.
struct start_failure {
  int number = 0;               ///< errno; EAGAIN: it was kept from beginning, by a signal
  std::string detail;           ///< for people
  bool may_have_begun = false;  ///< its guardian was killed just when the command was to begin
};

/// Called by result::value(), which is a programmer's error after a failure.
[[noreturn]] inline void throw_exception_from_error(const start_failure& failed,
                                                    const boost::source_location& /*where*/) {
  throw std::logic_error(failed.detail);
}

/// A running command. Its destructor kills all of its processes, unless it was left.
/// Thread-safety: signal() may be called from any thread while the object lives; all else by one.
class child {
 public:
  /// Starts the command; blocks until it runs.
  [[nodiscard]] static boost::system::result<child, start_failure> start(
      const child_params& params);
  child(child&&) noexcept = default;
  child& operator=(child&&) = delete;
  ~child();

  /// Becomes readable when ended() has something new to say.
  [[nodiscard]] int events() const noexcept { return control_.get(); }
  /// Whether the command ended: its own process, not all that it started.
  [[nodiscard]] bool ended();
  /// Waits for the end. False: the time is over.
  [[nodiscard]] bool wait(time_point until);
  /// As of waitpid. Nullopt: not ended, or killed together with its guardian, with no status known.
  [[nodiscard]] std::optional<int> status() const noexcept { return status_; }

  /// The signal that has stopped the command since the last call; 0: none.
  [[nodiscard]] int take_stop() noexcept { return std::exchange(stopped_by_, 0); }
  /// The limit was reached, and the command is being ended or was killed.
  [[nodiscard]] bool time_is_over() const noexcept { return time_is_over_; }

  /// Sends a signal to the command's process group.
  void signal(int number) const noexcept;
  /// Sets another limit.
  void limit(const run_limit& until) const noexcept;
  /// Gives the keys of its terminal to the command, which goes on if it was stopped.
  void to_foreground() const noexcept;
  /// Kills all processes of the command, and waits for their end.
  void kill_all() noexcept;
  /// What the command has left running goes on. What it writes is dropped.
  void leave() noexcept;

 private:
  child(base::descriptor control, pid_t guardian) noexcept
      : control_(std::move(control)), guardian_(guardian) {}
  /// Ends the guardian by an order.
  void finish(bool kill) noexcept;
  /// Kills what is in the command's control group, also where the guardian was killed.
  void end_group() noexcept;

  base::descriptor control_;
  pid_t guardian_ = -1;
  std::string group_;  ///< the folder of the command's control group; empty: there is none
  bool ended_ = false;
  std::optional<int> status_;
  int stopped_by_ = 0;
  bool time_is_over_ = false;
};

/// The lowest number from 3 that no descriptor has which other programs inherit from this process.
[[nodiscard]] int free_number() noexcept;

/// The variables of this process, behind the given ones, which replace those of the same name.
[[nodiscard]] std::vector<std::string> environment_behind(std::vector<std::string> given);

}  // namespace onceguard::process
