#include "cli/services/running_workers.hpp"

#include <atomic>
#include <csignal>
#include <memory>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "admin/drain_api.hpp"
#include "admin/server.hpp"
#include "admin/worker_api.hpp"
#include "audit/audit_log.hpp"
#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/log/log_file.hpp"
#include "cli/log/log_lines.hpp"
#include "cli/services/run_signals.hpp"
#include "cli/services/shut_in.hpp"
#include "process/supervisor.hpp"

namespace onceguard::cli::services {
int rounds::run(const work& one, const std::stop_token& stop) {
  std::optional<config::settings> former;
  while (true) {
    std::stop_source round;
    if (auto before = begin(round)) {
      former = std::move(before);
      base::log(base::event::reloaded, {{"by", "SIGHUP"}});
    }
    const std::stop_callback ends(stop, [&round] { round.request_stop(); });
    const int code = one(current_, round);
    if (stop.stop_requested()) return code;
    const bool goes_back = code != exit_ok && former;
    if (goes_back) go_back(*std::exchange(former, std::nullopt));
    if (!goes_back && !has_next()) return code;
  }
}

std::optional<config::settings> rounds::begin(const std::stop_source& round) {
  const std::lock_guard lock(mutex_);
  round_ = round;
  if (!next_) return std::nullopt;
  return std::exchange(current_, *std::exchange(next_, std::nullopt));
}

void rounds::go_back(config::settings former) {
  refuse();
  const std::lock_guard lock(mutex_);  // a reload may read the current ones
  current_ = std::move(former);
}

bool rounds::has_next() {
  const std::lock_guard lock(mutex_);
  return next_.has_value();
}

void rounds::reload() {
  const auto read = config::load(sources_of(given_, false));
  log::log_remarks(read.remarks);
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

int run_until_stopped(const given_flags& given, const config::loaded& read, std::string_view needs,
                      rounds::fits has_work,
                      const std::function<int(rounds&, const std::stop_source&)>& work) {
  const auto& settings = read.values;
  auto manager = process::supervisor::of_environment();
  for (const int other : {SIGPIPE, SIGUSR1, SIGUSR2, SIGTTOU}) std::signal(other, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);  // whoever started us may ignore it: no exit code would come
  const auto descriptor = log::log_descriptor(settings.log);
  if (!descriptor) return exit_failed;
  const auto open_parts = shut_in(settings, needs);
  std::stop_source stop;
  log::log_lines lines(settings.log, *descriptor);
  base::set_log_sink(&lines);
  rounds all(given, settings, std::move(has_work));
  run_signals signals(stop,
                      {.status = [] { return "taking messages"; },
                       .stopping_status = "what runs is finished",
                       .reload = [&all] { all.reload(); }},
                      lines, std::move(manager));
  signals.begin();
  signals.say_ready();
  log_shut_in(open_parts);
  log::log_remarks(read.remarks);
  const int code = work(all, stop);
  base::log(base::event::stopped);
  lines.flush();
  base::set_log_sink(nullptr);
  return code;
}

worker_acts::worker_acts(const config::settings& settings) {
  // Opened by the first act, on the listener's thread: the work needs none.
  const auto log = std::make_shared<std::unique_ptr<audit_log>>();
  audit = [log, path = settings.gateway.audit_log]() -> audit_log* {
    if (*log == nullptr) {
      if (auto opened = audit_log::open(path)) *log = *std::move(opened);
    }
    return log->get();
  };
}

namespace {

/// What it serves, before it listens.
void fill_listener(admin::server& listener, const config::settings& settings,
                   const worker_crew& crew) {
  auto& pauses = crew.acts.pauses;
  const auto& audit = crew.acts.audit;
  listener.add(admin::worker_resources(crew.state));
  listener.add(admin::audit_resources(audit));
  listener.add(admin::worker_act_resources({crew.names, crew.state, pauses, audit}));
  // The one way in which the process ends in order: the service manager knows, and the log.
  listener.add(
      admin::drain_resources(audit, [](const std::string&) { ::kill(::getpid(), SIGTERM); }));
  if (crew.more) listener.add(crew.more(audit));
  if (settings.admin.page) listener.add_page(crew.page);
}

}  // namespace

int run_workers(const config::settings& settings, std::stop_source stop, const worker_crew& crew,
                const std::function<int(std::size_t, std::stop_token)>& work) {
  admin::server listener(settings.admin, crew.acts.signed_in);
  if (settings.admin.enabled) {
    fill_listener(listener, settings, crew);
    if (const auto started = listener.start(); !started) {
      base::log(base::event::start_failed, {{"why", started.error().detail}});
      return started.error().code == errc::invalid_argument ? exit_configuration : exit_failed;
    }
    base::log(base::event::admin_listening, {{"address", listener.local().text()}});
  }
  std::atomic<int> out{exit_ok};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < crew.names.size(); ++i) {
    threads.emplace_back([&, i] {
      const int code = crew.acts.pauses.run(crew.names[i], stop.get_token(),
                                            [&](std::stop_token part) { return work(i, part); });
      if (code == exit_ok) return;
      out = code;
      stop.request_stop();
    });
  }
  threads.clear();
  if (crew.close) crew.close();
  // A drain by the admin API is answered before the listener ends.
  listener.wait_for_acts(base::boot_now() + milliseconds(1'000));
  return out;
}

int start_failed(const std::string& table, const error& why) {
  base::log(base::event::start_failed, {{"why", table + ": " + why.detail}});
  const bool configured_wrongly = why.code == errc::invalid_argument ||
                                  why.code == errc::conflict || why.code == errc::not_found;
  return configured_wrongly ? exit_configuration : exit_failed;
}

}  // namespace onceguard::cli::services
