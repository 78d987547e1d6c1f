// Tells the service manager how this process is: the protocol of sd_notify(3).
#pragma once
#include <chrono>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace onceguard::process {

/// Without a manager that listens, nothing is said.
class supervisor {
 public:
  supervisor() = default;
  /// Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment: they are meant for
  /// this process alone, and not for what it starts. Before there are threads.
  [[nodiscard]] static supervisor of_environment();

  [[nodiscard]] bool listens() const noexcept { return !socket_.empty(); }
  /// Within this time the manager expects a sign of life; 0: it expects none.
  [[nodiscard]] std::chrono::microseconds alive_interval() const noexcept {
    return alive_interval_;
  }

  /// Variables by line, as "READY=1\nSTATUS=…". A failure is logged. Waits for a manager that is
  /// slow to read for at most a second.
  void say(const std::string& variables) const;
  void say_ready(std::string_view status) const;
  /// A reload has begun; say_ready() ends it.
  void say_reloading() const;
  void say_stopping(std::string_view status) const;
  void say_status(std::string_view status) const;
  void say_alive() const;
  /// The manager's process is another one from now on, which speaks for itself.
  void say_main_process(pid_t successor) const;

  /// For a successor: see successor_params.
  [[nodiscard]] std::vector<std::string> variables() const;

 private:
  std::string socket_;  // a path, or behind "@" an abstract name; empty: nobody listens
  std::chrono::microseconds alive_interval_{0};
};

}  // namespace onceguard::process
