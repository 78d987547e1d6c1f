#include "cli/serve/until_stopped.hpp"

#include <atomic>
#include <csignal>
#include <thread>
#include <utility>
#include <vector>

#include "admin/server.hpp"
#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/log/log_file.hpp"
#include "cli/log/log_lines.hpp"
#include "cli/serve/run_signals.hpp"
#include "process/supervisor.hpp"

namespace onceguard::cli {
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
  auto manager = process::supervisor::of_environment();
  for (const int other : {SIGPIPE, SIGUSR1, SIGUSR2, SIGTTOU}) std::signal(other, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);  // whoever started us may ignore it: no exit code would come
  const auto descriptor = log_descriptor(settings.log);
  if (!descriptor) return exit_failed;
  std::stop_source stop;
  log_lines lines(settings.log, *descriptor);
  base::set_log_sink(&lines);
  rounds all(given, settings, std::move(has_work));
  run_signals signals(stop,
                      {.status = [] { return "taking messages"; },
                       .stopping_status = "what runs is finished",
                       .reload = [&all] { all.reload(); }},
                      lines, std::move(manager));
  signals.begin();
  signals.say_ready();
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
