// A command as a child process. All processes that come of it end with this process, however this
// process ends.
#pragma once
#include <array>
#include <csignal>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <onceguard/error.hpp>

#include "process/channel.hpp"
#include "process/descriptor.hpp"

namespace onceguard::process {

/// What runs, and with what.
struct child_params {
  /// The program, looked for in PATH unless it contains a slash, and its arguments: no shell.
  std::vector<std::string> words;
  /// All variables, as NAME=value; of two with one name the first counts.
  std::vector<std::string> environment;
  /// The working directory; empty: this process's.
  std::string folder;
  /// Become the descriptors 0 to 3; -1: as in this process, and no descriptor 3.
  std::array<int, 4> streams{-1, -1, -1, -1};
  /// The command begins a process group: what a terminal sends to this process does not reach it.
  bool new_group = true;
  /// The mask of blocked signals; empty: none is blocked.
  std::optional<sigset_t> mask;
};

/// Why a command did not start.
struct start_failure {
  int number = 0;      ///< errno
  std::string detail;  ///< for people
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

  /// Sends a signal to the command, or to its group if it has one.
  void signal(int number) const noexcept;
  /// Kills all processes of the command, and waits for their end.
  void kill_all() noexcept;
  /// What the command has left running goes on.
  void leave() noexcept;

 private:
  child(descriptor control, pid_t guardian) noexcept
      : control_(std::move(control)), guardian_(guardian) {}
  void order(std::int32_t number) const noexcept;
  /// Ends the guardian by an order.
  void finish(std::int32_t number) noexcept;

  descriptor control_;
  pid_t guardian_ = -1;
  bool ended_ = false;
  std::optional<int> status_;
};

/// The variables of this process, behind the given ones, which replace those of the same name.
[[nodiscard]] std::vector<std::string> environment_behind(std::vector<std::string> given);

}  // namespace onceguard::process
