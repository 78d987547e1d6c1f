// The signals of a process that runs a command in its place.
#pragma once
#include <csignal>
#include <mutex>
#include <stop_token>
#include <thread>

#include <onceguard/command.hpp>

#include "base/clock.hpp"

namespace onceguard::cli::exec {

/// Takes the signals that end a process or have a meaning for its command. While a command runs,
/// the command's process group gets them, once; before and between, they request a stop. The
/// command is in another process group, so that nothing else sends it what is sent to this one.
class signal_relay {
 public:
  /// Blocks the signals in this thread and those that it starts from then on: make it first.
  signal_relay();
  signal_relay(const signal_relay&) = delete;
  signal_relay& operator=(const signal_relay&) = delete;
  ~signal_relay();

  /// The mask of before, for the command.
  [[nodiscard]] const sigset_t& former_mask() const noexcept { return former_; }
  [[nodiscard]] std::stop_token stop() const { return stop_.get_token(); }
  /// Null: no command runs. A command that has begun gets the signal that requested a stop.
  void send_to(running_command* command);
  /// Ends the process by the signal that requested the stop, or that was typed and ended the
  /// command (whose exit code is given), as if nothing had taken the signal. Returns where none
  /// did. From then on no signal is taken.
  void end_by_signal(int code);

 private:
  void take();
  void end_thread();
  void pass_on(const siginfo_t& taken);
  [[nodiscard]] bool is_repeated(const siginfo_t& taken);
  /// As if nothing had taken the terminal's stop.
  void stop_here() const;

  sigset_t taken_{};
  sigset_t former_{};
  sigset_t ignored_{};
  int last_signal_ = 0;
  pid_t last_sender_ = 0;
  base::boot_clock::time_point last_taken_;
  std::stop_source stop_;
  std::mutex mutex_;
  running_command* command_ = nullptr;
  int stopped_by_ = 0;
  int typed_ = 0;
  std::jthread thread_;
};

}  // namespace onceguard::cli::exec
