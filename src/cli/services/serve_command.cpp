#include <atomic>
#include <csignal>
#include <optional>

#include "admin/server.hpp"
#include "admin/worker_resources.hpp"
#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/hidden_arguments.hpp"
#include "cli/log/log_file.hpp"
#include "cli/log/log_lines.hpp"
#include "cli/services/opened_guard.hpp"
#include "cli/services/running_decisions.hpp"
#include "cli/services/shut_in.hpp"
#include "cli/services/start_limit.hpp"
#include "cli/services/succession.hpp"
#include "config/all_options.hpp"
#include "config/policy/policy_options.hpp"
#include "process/passed_sockets.hpp"
#include "process/supervisor.hpp"
#include "serve/server.hpp"

namespace onceguard::cli::services {
namespace {

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
  for (const auto& [name, policy] : settings.operations->named()) take(*policy);
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
  add_limits(out);
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

/// What the process was given at its start.
struct service_surroundings {
  given_sockets sockets;
  std::optional<start_limit> limit;  ///< of a successor that does not answer clients yet
};

int serve(const config::settings& settings, running_decisions& program,
          service_surroundings& around) {
  auto& sockets = around.sockets;
  auto opened = open_guard(settings, guard_params_of(settings), program.stopping());
  if (!opened) return start_failure(opened.error(), exit_store);
  if (!opened->has_value()) return exit_ok;
  auto& records = **opened;
  serve::server service(records, settings.serve);
  admin::server admin(settings.admin);
  admin.add(admin::worker_resources([&] { return state_of(records, service); }));
  if (const auto set = service.set_rules(config::serve_rules_of(settings)); !set) {
    return start_failure(set.error(), exit_configuration);
  }
  const auto taken = sockets.taken();
  const auto clients = sockets.pass_serve();
  if (const auto begun = service.start(clients); !begun) {
    return start_failure(begun.error(), exit_failed);
  }
  if (settings.admin.enabled) {
    const auto passed = sockets.pass_admin();
    if (const auto begun = admin.start(passed); !begun)
      return start_failure(begun.error(), exit_failed);
    base::log(base::event::admin_listening, {{"address", admin.local().text()}});
  }
  base::log(base::event::serving,
            {{"address", service.local().text()}, {"store", records.records().traits().name}});
  sockets.former.relieve(taken);
  around.limit.reset();
  const running_decisions::parts all{service, admin, records.records().traits().shared};
  program.serve(&all);
  service.wait();
  program.serve(nullptr);
  return exit_ok;
}

int run_service(const given_flags& given) {
  auto manager = process::supervisor::of_environment();
  for (const int other : {SIGPIPE, SIGUSR1, SIGUSR2, SIGTTOU}) std::signal(other, SIG_IGN);
  auto passed = process::take_passed_sockets();
  auto starter =
      process::successor_starter::begin(given_words(), manager.variables(), shown_words());
  std::atomic<bool> logs{false};
  service_surroundings around;
  if (have_predecessor(passed)) {
    around.limit.emplace(start_patience, [&logs] { end_late_start(logs); });
  }
  const auto read = load_config(given, false);
  if (!read) return exit_configuration;
  const auto& settings = read->values;
  if (!settings.serve.enabled) {
    return end_with(exit_configuration,
                    "where do clients reach the service? --listen unix:PATH or HOST:PORT, or "
                    "listen in [serve]");
  }
  const auto descriptor = log::log_descriptor(settings.log);
  if (!descriptor) return exit_failed;
  const auto open_parts = shut_in(settings);
  log::log_lines lines(settings.log, *descriptor);
  base::set_log_sink(&lines);
  logs = true;
  int code = exit_ok;
  {
    running_decisions program(given, settings, lines, std::move(manager), starter);
    log_shut_in(open_parts);
    log::log_remarks(read->remarks);
    auto sockets = sort_sockets(std::move(passed), settings);
    if (sockets) {
      around.sockets = *std::move(sockets);
      code = serve(settings, program, around);
    } else {
      code = start_failure(sockets.error(), exit_failed);
    }
  }
  around.limit.reset();
  base::log(base::event::stopped);
  lines.flush();
  base::set_log_sink(nullptr);
  return code;
}

}  // namespace

void add_serve_command(const command& added) {
  std::vector<std::string_view> also{
      "admin",        "admin-token-file", "state-dir",    "log-file", "log-level",  "log-format",
      "drain",        "settle-wait",      "max-buffered", "sweep",    "after-loss", "problem-base",
      "replay-cache", "sandbox"};
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

}  // namespace onceguard::cli::services
