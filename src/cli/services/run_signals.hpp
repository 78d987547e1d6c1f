// The signals of a command that runs until it is stopped, and what the service manager hears.
#pragma once
#include <csignal>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "process/supervisor.hpp"

namespace onceguard::cli::log {
class log_lines;
}

namespace onceguard::cli::services {

/// SIGTERM, SIGINT or SIGQUIT as a text.
[[nodiscard]] std::string_view name_of_stop(int signal) noexcept;

/// Called on the thread of the signals.
struct signal_hooks {
  std::function<std::string()> status;     ///< for the manager, while the command runs
  std::string stopping_status;             ///< and once a stop is requested
  std::function<void()> reload;            ///< SIGHUP
  std::function<void()> upgrade = {};      ///< SIGUSR2; empty: it is ignored
  std::function<void()> stopping = {};     ///< after the stop request
  std::function<void()> late_reload = {};  ///< SIGHUP after the stop request; empty: nothing
};

/// SIGTERM, SIGINT and SIGQUIT request a stop. A second SIGINT ends the process, as SIGKILL does.
class run_signals {
 public:
  run_signals(std::stop_source stop, signal_hooks hooks, log::log_lines& lines,
              process::supervisor manager);
  run_signals(const run_signals&) = delete;
  run_signals& operator=(const run_signals&) = delete;
  ~run_signals() { end(); }

  /// Once, before run().
  void begin();
  /// No hook is called any more.
  void end();
  /// The command does its work from now on; unless a stop is requested. From any thread.
  void say_ready();
  /// A successor is the manager's main process: whatever is said from now on would be said of it.
  void change_main_process(pid_t successor);

  [[nodiscard]] const std::stop_source& stop() const noexcept { return stop_; }
  [[nodiscard]] const process::supervisor& manager() const noexcept { return manager_; }
  [[nodiscard]] boost::asio::io_context& io() noexcept { return io_; }

 private:
  void wait();
  void take(int signal);
  void reload();
  void beat();

  std::stop_source stop_;
  const signal_hooks hooks_;
  log::log_lines& lines_;
  process::supervisor manager_;  // on the thread of the signals
  bool interrupted_ = false;
  bool is_ready_ = false;  // as the manager knows
  boost::asio::io_context io_{1};
  boost::asio::steady_timer beat_{io_};
  boost::asio::signal_set signals_{io_, SIGTERM, SIGINT, SIGHUP};
  std::jthread thread_;
};

}  // namespace onceguard::cli::services
