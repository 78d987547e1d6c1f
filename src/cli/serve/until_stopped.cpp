#include "cli/serve/until_stopped.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "admin/server.hpp"
#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/log/log_file.hpp"
#include "cli/log/log_lines.hpp"
#include "process/supervisor.hpp"

namespace onceguard::cli {
namespace {

/// Requests a stop at SIGTERM, SIGINT or SIGQUIT. A second SIGINT ends the process, as SIGKILL
/// does.
class stop_signals {
 public:
  stop_signals(std::stop_source stop, rounds& all, log_lines& lines,
               const process::supervisor& manager)
      : stop_(std::move(stop)), all_(all), lines_(lines), manager_(manager) {
    signals_.add(SIGQUIT);
    wait();
    manager_.say_ready("taking messages");
    if (manager_.alive_interval().count() > 0) beat();
    thread_ = std::jthread([this] { io_.run(); });
  }
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;
  ~stop_signals() { io_.stop(); }

 private:
  void wait() {
    signals_.async_wait([this](const boost::system::error_code& failed, int signal) {
      if (failed) return;
      take(signal);
      wait();
    });
  }

  static const char* name_of(int signal) {
    if (signal == SIGTERM) return "SIGTERM";
    return signal == SIGINT ? "SIGINT" : "SIGQUIT";
  }

  void take(int signal) {
    if (signal == SIGHUP) return stop_.stop_requested() ? void() : reload();
    if (signal == SIGINT && std::exchange(interrupted_, true)) {
      base::log(base::event::stopped_early);
      lines_.flush();
      std::_Exit(exit_failed);
    }
    if (stop_.stop_requested()) return;
    manager_.say_stopping("what runs is finished");
    base::log(base::event::draining, {{"by", name_of(signal)}});
    stop_.request_stop();
  }

  void reload() {
    manager_.say_reloading();
    all_.reload();
    manager_.say_ready("taking messages");
  }

  /// Only says that the process runs: how long a message takes is for its handler to say.
  void beat() {
    manager_.say_alive();
    beat_.expires_after(manager_.alive_interval() / 2);
    beat_.async_wait([this](const boost::system::error_code& cancelled) {
      if (!cancelled) beat();
    });
  }

  std::stop_source stop_;
  rounds& all_;
  log_lines& lines_;
  const process::supervisor& manager_;
  bool interrupted_ = false;
  boost::asio::io_context io_{1};
  boost::asio::steady_timer beat_{io_};
  boost::asio::signal_set signals_{io_, SIGTERM, SIGINT, SIGHUP};
  std::jthread thread_;
};

}  // namespace

int rounds::run(const work& one, const std::stop_token& stop) {
  std::optional<config::settings> former;
  while (true) {
    std::stop_source round;
    {
      const std::lock_guard lock(mutex_);
      round_ = round;
    }
    const std::stop_callback ends(stop, [&round] { round.request_stop(); });
    const int code = one(current_, round);
    if (stop.stop_requested()) return code;
    if (code != exit_ok) {
      if (!former) return code;
      refuse();
      current_ = *std::exchange(former, std::nullopt);
      continue;
    }
    auto before = current_;
    if (!take_next()) return code;
    former = std::move(before);
    base::log(base::event::reloaded, {{"by", "SIGHUP"}});
  }
}

bool rounds::take_next() {
  const std::lock_guard lock(mutex_);
  if (!next_) return false;
  current_ = *std::exchange(next_, std::nullopt);
  return true;
}

void rounds::reload() {
  const auto read = config::load(sources_of(given_, false));
  log_remarks(read.remarks);
  if (!read.ok() || !has_work_(read.values)) return refuse();
  const std::lock_guard lock(mutex_);
  for (const auto& name : config::fixed_changes(current_, read.values)) {
    base::log(base::event::restart_needed, {{"option", name}});
  }
  next_ = current_;
  next_->consumers = read.values.consumers;
  next_->relays = read.values.relays;
  round_.request_stop();
}

void rounds::refuse() { base::log(base::event::reload_refused); }

int run_until_stopped(const given_flags& given, const config::loaded& read, rounds::fits has_work,
                      const std::function<int(rounds&, const std::stop_source&)>& work) {
  const auto& settings = read.values;
  const auto manager = process::supervisor::of_environment();
  for (const int other : {SIGPIPE, SIGUSR1, SIGUSR2, SIGTTOU}) std::signal(other, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);  // whoever started us may ignore it: no exit code would come
  const auto descriptor = log_descriptor(settings.log);
  if (!descriptor) return exit_failed;
  std::stop_source stop;
  log_lines lines(settings.log, *descriptor);
  base::set_log_sink(&lines);
  rounds all(given, settings, std::move(has_work));
  const stop_signals signals(stop, all, lines, manager);
  log_remarks(read.remarks);
  const int code = work(all, stop);
  base::log(base::event::stopped);
  lines.flush();
  base::set_log_sink(nullptr);
  return code;
}

int run_workers(const admin::admin_params& admin, std::stop_source stop, std::size_t count,
                std::function<admin::worker_state()> state,
                const std::function<int(std::size_t)>& work) {
  admin::server listener(admin);
  if (admin.enabled) {
    listener.add(admin::worker_resources(std::move(state)));
    if (const auto started = listener.start(); !started) {
      base::log(base::event::start_failed, {{"why", started.error().detail}});
      return started.error().code == errc::invalid_argument ? exit_configuration : exit_failed;
    }
    base::log(base::event::admin_listening, {{"address", listener.local().text()}});
  }
  std::atomic<int> out{exit_ok};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      const int code = work(i);
      if (code == exit_ok) return;
      out = code;
      stop.request_stop();
    });
  }
  threads.clear();
  return out;
}

int start_failed(const std::string& table, const error& why) {
  base::log(base::event::start_failed, {{"why", table + ": " + why.detail}});
  const bool configured_wrongly = why.code == errc::invalid_argument ||
                                  why.code == errc::conflict || why.code == errc::not_found;
  return configured_wrongly ? exit_configuration : exit_failed;
}

}  // namespace onceguard::cli
