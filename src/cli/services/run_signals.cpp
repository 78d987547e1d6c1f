#include "cli/services/run_signals.hpp"

#include <csignal>
#include <cstdlib>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/log/log_lines.hpp"

namespace onceguard::cli::services {

std::string_view name_of_stop(int signal) noexcept {
  if (signal == SIGTERM) return "SIGTERM";
  return signal == SIGINT ? "SIGINT" : "SIGQUIT";
}

run_signals::run_signals(std::stop_source stop, signal_hooks hooks, log::log_lines& lines,
                         process::supervisor manager)
    : stop_(std::move(stop)),
      hooks_(std::move(hooks)),
      lines_(lines),
      manager_(std::move(manager)) {
  signals_.add(SIGQUIT);
  if (hooks_.upgrade) signals_.add(SIGUSR2);
  wait();
}

void run_signals::begin() {
  thread_ = std::jthread([this] { io_.run(); });
}

void run_signals::end() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

void run_signals::say_ready() {
  boost::asio::post(io_, [this] {
    if (stop_.stop_requested()) return;
    is_ready_ = true;
    manager_.say_ready(hooks_.status());
    if (manager_.alive_interval().count() > 0) beat();
  });
}

void run_signals::change_main_process(pid_t successor) {
  manager_.say_main_process(successor);
  manager_ = {};
}

void run_signals::wait() {
  signals_.async_wait([this](const boost::system::error_code& failed, int signal) {
    if (failed) return;
    take(signal);
    wait();
  });
}

void run_signals::take(int signal) {
  if (signal == SIGHUP) return reload();
  if (signal == SIGUSR2) return hooks_.upgrade();
  if (signal == SIGINT && std::exchange(interrupted_, true)) {
    base::log(base::event::stopped_early);
    lines_.flush();
    std::_Exit(exit_failed);
  }
  if (stop_.stop_requested()) return;
  manager_.say_stopping(hooks_.stopping_status);
  base::log(base::event::draining, {{"by", name_of_stop(signal)}});
  stop_.request_stop();
  if (hooks_.stopping) hooks_.stopping();
}

void run_signals::reload() {
  if (stop_.stop_requested()) return hooks_.late_reload ? hooks_.late_reload() : void();
  // The end of a reload would be the end of the start.
  if (!is_ready_) return hooks_.reload();
  manager_.say_reloading();
  hooks_.reload();
  manager_.say_ready(hooks_.status());
}

/// Only says that the process runs: how long its work takes is for whoever does it to say.
void run_signals::beat() {
  if (manager_.alive_interval().count() == 0) return;
  manager_.say_alive();
  beat_.expires_after(manager_.alive_interval() / 2);
  beat_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) beat();
  });
}

}  // namespace onceguard::cli::services
