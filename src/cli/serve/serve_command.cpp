#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "admin/server.hpp"
#include "admin/worker_resources.hpp"
#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/flags/given_flags.hpp"
#include "cli/flags/hidden_arguments.hpp"
#include "cli/log/log_file.hpp"
#include "cli/log/log_lines.hpp"
#include "cli/serve/hand_over.hpp"
#include "cli/serve/opened_guard.hpp"
#include "config/all_options.hpp"
#include "config/policy/policy_options.hpp"
#include "process/passed_sockets.hpp"
#include "process/supervisor.hpp"
#include "serve/server.hpp"

namespace onceguard::cli {
namespace {

/// The service as its signals find it.
struct running_service {
  serve::server& server;
  admin::server& admin;
  bool shares_store;  ///< another process would find its records
};

/// SIGTERM, SIGINT and SIGQUIT drain, a second SIGINT ends at once, SIGHUP reads the rules again,
/// SIGUSR2 starts the process that takes this one's place.
class service_signals {
 public:
  service_signals(const given_flags& given, config::settings running, log_lines& lines,
                  process::supervisor manager)
      : given_(given), running_(std::move(running)), lines_(lines), manager_(std::move(manager)) {
    for (const int other : {SIGQUIT, SIGUSR2}) signals_.add(other);
    wait();
    thread_ = std::jthread([this] { io_.run(); });
  }
  service_signals(const service_signals&) = delete;
  service_signals& operator=(const service_signals&) = delete;
  ~service_signals() { io_.stop(); }

  [[nodiscard]] std::stop_token stopping() const { return stop_.get_token(); }
  /// From now on signals concern it; null: not any more.
  void serve(const running_service* service) {
    const std::lock_guard lock(mutex_);
    service_ = service;
    if (service == nullptr) return;
    manager_.say_ready(status());
    if (manager_.alive_interval().count() > 0) beat();
    if (stop_.stop_requested()) service->server.drain();
  }

 private:
  void wait() {
    signals_.async_wait([this](const boost::system::error_code& failed, int signal) {
      if (failed) return;
      take(signal);
      wait();
    });
  }

  void take(int signal) {
    const std::lock_guard lock(mutex_);
    if (signal == SIGHUP) return reload();
    if (signal == SIGUSR2) return upgrade();
    if (signal == SIGINT && std::exchange(interrupted_, true)) {
      base::log(base::event::stopped_early);
      lines_.flush();
      std::_Exit(exit_failed);
    }
    if (stop_.stop_requested()) return;
    manager_.say_stopping("operations that run are settled");
    const char* const signal_name = signal == SIGTERM  ? "SIGTERM"
                                    : signal == SIGINT ? "SIGINT"
                                                       : "SIGQUIT";
    base::log(base::event::draining, {{"by", signal_name}});
    stop_.request_stop();
    succession_.stop();
    if (service_ != nullptr) service_->server.drain();
  }

  [[nodiscard]] std::string status() const {
    return "answering clients at " + service_->server.local().text();
  }

  /// Why this process must not be replaced while it runs; empty: it may.
  [[nodiscard]] std::string upgrade_refusal() const {
    if (stop_.stop_requested()) return "the service drains";
    if (service_ == nullptr) return "the start is not over";
    if (succession_.under_way()) return "another upgrade is under way";
    if (!service_->shares_store) {
      return "the store belongs to this process: another one would not find its records";
    }
    // The kernel ends all processes of a PID namespace with its first one.
    if (::getpid() == 1) return "with process 1 the container ends: replace the container";
    return {};
  }

  void upgrade() {
    const auto refuse = [](const std::string& why) {
      base::log(base::event::upgrade_refused, {{"why", why}});
    };
    if (const auto why = upgrade_refusal(); !why.empty()) return refuse(why);
    succession::inheritance left;
    left.serve = running_.serve.listen.text();
    left.store = store_text(running_);
    left.sockets.emplace_back("serve", service_->server.socket());
    if (running_.admin.enabled) {
      left.admin = running_.admin.address.text();
      left.made_admin_file = service_->admin.made_file();
      left.sockets.emplace_back("admin", service_->admin.socket());
    }
    left.variables = manager_.variables();
    const auto failed = [](pid_t successor) {
      base::log(base::event::upgrade_failed, {{"pid", successor}});
    };
    const auto begun = succession_.begin(
        given_words(), left, [this](const auto& successor) { hand_over(successor); }, failed);
    if (!begun) return refuse(begun.error().detail);
    base::log(base::event::upgrade_begun, {{"pid", *begun}});
  }

  /// The successor answers clients: this process takes no more of them.
  void hand_over(const succession::word& successor) {
    const std::lock_guard lock(mutex_);
    manager_.say_main_process(successor.number);
    manager_ = {};  // whatever was said from now on would be said of the successor
    succession_.confirm();
    base::log(base::event::handed_over, {{"pid", successor.number}});
    if (stop_.stop_requested() || service_ == nullptr) return;
    stop_.request_stop();
    if (running_.admin.enabled) service_->admin.hand_over(successor.took_admin);
    service_->server.hand_over();
  }

  void reload() {
    if (service_ == nullptr || stop_.stop_requested()) return;
    manager_.say_reloading();
    const bool taken = take_configuration();
    base::log(taken ? base::event::reloaded : base::event::reload_refused, {{"by", "SIGHUP"}});
    manager_.say_ready(status());
  }

  bool take_configuration() {
    auto source = sources_of(given_, false);
    source.need_content = !running_.says_nothing;
    const auto read = config::load(source);
    log_remarks(read.remarks);
    if (!read.ok()) return false;
    if (const auto set = service_->server.set_rules(config::serve_rules_of(read.values)); !set) {
      base::log(base::event::rules_refused, {{"why", set.error().detail}});
      return false;
    }
    for (const auto& name : config::fixed_changes(running_, read.values)) {
      base::log(base::event::restart_needed, {{"option", name}});
    }
    return true;
  }

  void beat() {
    manager_.say_alive();
    beat_.expires_after(manager_.alive_interval() / 2);
    beat_.async_wait([this](const boost::system::error_code& cancelled) {
      if (!cancelled) beat();
    });
  }

  const given_flags& given_;
  const config::settings running_;
  log_lines& lines_;
  process::supervisor manager_;
  std::stop_source stop_;
  std::mutex mutex_;
  const running_service* service_ = nullptr;  // under the mutex
  bool interrupted_ = false;
  boost::asio::io_context io_{1};
  boost::asio::steady_timer beat_{io_};
  succession succession_{io_};
  boost::asio::signal_set signals_{io_, SIGTERM, SIGINT, SIGHUP};
  std::jthread thread_;
};

guard_params guard_params_of(const config::settings& settings) {
  guard_params out;
  out.store_timeout = settings.store.timeout;
  out.max_buffered = settings.gateway.max_buffered;
  auto& engine = out.engine;
  engine.settle_wait = settings.gateway.settle_wait;
  engine.sweep_interval = settings.gateway.sweep_interval;
  engine.replay_cache = settings.gateway.replay_cache;
  engine.max_waiters = settings.gateway.max_waiters;
  engine.after_loss = settings.gateway.after_loss;
  engine.state_dir = settings.gateway.state_dir;
  const auto take = [&engine](const route_policy& policy) {
    engine.loss_quiet = std::max(engine.loss_quiet, policy.lease + policy.upstream_timeout);
    engine.longest_retention = std::max(engine.longest_retention, policy.retention);
  };
  engine.loss_quiet = engine.longest_retention = milliseconds(0);
  take(settings.defaults);
  for (const auto& each : settings.routing.routes) take(each.policy);
  return out;
}

/// On the admin listener's thread.
admin::worker_state state_of(guard& records, const serve::server& service) {
  admin::worker_state out;
  const auto store = records.engine().health();
  if (!store.up) out.reasons.push_back({{"reason", "store-away"}, {"why", store.why}});
  if (service.draining()) out.reasons.push_back({{"reason", "draining"}});
  out.add("onceguard_store_up", "Whether the store answers, and takes writes.", store.up);
  for (const auto* counter : records.engine().counters().all) {
    out.add(counter->name, counter->meaning, counter->load());
  }
  const auto load = service.load();
  out.add("onceguard_connections", "Clients that are connected.", load.connections);
  out.add("onceguard_connections_refused_total", "Clients beyond max_connections.", load.refused);
  out.add("onceguard_leases", "Leases that are held.", load.operations);
  out.add("onceguard_calls", "Calls that are carried out now.", load.calls);
  out.add("onceguard_buffered_bytes", "Messages that are read now.", load.buffered);
  return out;
}

int start_failure(const error& why, int otherwise) {
  base::log(base::event::start_failed, {{"why", why.detail}});
  return why.code == errc::invalid_argument ? exit_configuration : otherwise;
}

int serve(const config::settings& settings, service_signals& signals, given_sockets& sockets) {
  auto opened = open_guard(settings, guard_params_of(settings), signals.stopping());
  if (!opened) return start_failure(opened.error(), exit_store);
  if (!opened->has_value()) return exit_ok;
  auto& records = **opened;
  serve::server service(records, settings.serve);
  admin::server admin(settings.admin);
  admin.add(admin::worker_resources([&] { return state_of(records, service); }));
  if (const auto set = service.set_rules(config::serve_rules_of(settings)); !set) {
    return start_failure(set.error(), exit_configuration);
  }
  const bool takes_admin = settings.admin.enabled && sockets.admin.is_open();
  if (const auto begun = service.start(sockets.serve.release()); !begun)
    return start_failure(begun.error(), exit_failed);
  if (settings.admin.enabled) {
    const auto passed = http1::passed_listener{sockets.admin.release(), sockets.made_admin_file};
    if (const auto begun = admin.start(passed); !begun)
      return start_failure(begun.error(), exit_failed);
    base::log(base::event::admin_listening, {{"address", admin.local().text()}});
  }
  base::log(base::event::serving,
            {{"address", service.local().text()}, {"store", records.records().traits().name}});
  sockets.former.relieve(takes_admin);
  const running_service all{service, admin, records.records().traits().shared};
  signals.serve(&all);
  service.wait();
  signals.serve(nullptr);
  return exit_ok;
}

int run_service(const given_flags& given) {
  auto manager = process::supervisor::of_environment();
  for (const int other : {SIGPIPE, SIGUSR1, SIGUSR2, SIGTTOU}) std::signal(other, SIG_IGN);
  auto passed = process::take_passed_sockets();
  const auto read = load_config(given, false);
  if (!read) return exit_configuration;
  const auto& settings = read->values;
  if (!settings.serve.enabled) {
    return end_with(exit_configuration,
                    "where do clients reach the service? --listen unix:PATH or HOST:PORT, or "
                    "listen in [serve]");
  }
  const auto descriptor = log_descriptor(settings.log);
  if (!descriptor) return exit_failed;
  log_lines lines(settings.log, *descriptor);
  base::set_log_sink(&lines);
  int code = exit_ok;
  {
    service_signals signals(given, settings, lines, std::move(manager));
    log_remarks(read->remarks);
    auto sockets = sort_sockets(std::move(passed), settings);
    code =
        sockets ? serve(settings, signals, *sockets) : start_failure(sockets.error(), exit_failed);
  }
  base::log(base::event::stopped);
  lines.flush();
  base::set_log_sink(nullptr);
  return code;
}

}  // namespace

void add_serve_command(const command& added) {
  std::vector<std::string_view> also{
      "admin",       "admin-token-file", "state-dir",    "log-file", "log-level",  "log-format",
      "drain",       "settle-wait",      "max-buffered", "sweep",    "after-loss", "problem-base",
      "replay-cache"};
  for (const auto& row : config::policy_rows()) {
    if (!row.spec.flag.empty()) also.push_back(row.spec.flag);
  }
  for (const auto& section : config::sections()) {
    if (section.title != "[serve]") continue;
    for (const auto* each : section.options) {
      if (!each->flag.empty()) also.push_back(each->flag);
    }
  }
  const auto given = add_store_flags(added, also);
  added.add({{"--listen", &given->texts["serve-listen"],
              "Where clients reach it: unix:PATH or HOST:PORT; the same as --serve-listen",
              single("ADDRESS")}});
  added.runs([=] { return run_service(*given); });
}

}  // namespace onceguard::cli
