#include <algorithm>
#include <atomic>
#include <csignal>
#include <mutex>
#include <optional>
#include <sys/resource.h>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <onceguard/version.hpp>

#include "admin/audit_api.hpp"
#include "admin/control_api.hpp"
#include "admin/drain_api.hpp"
#include "admin/health.hpp"
#include "admin/longer_history.hpp"
#include "admin/metrics.hpp"
#include "admin/overview.hpp"
#include "admin/program.hpp"
#include "admin/recent_activity.hpp"
#include "admin/recent_api.hpp"
#include "admin/record_api.hpp"
#include "admin/resolve_api.hpp"
#include "admin/server.hpp"
#include "admin/store_api.hpp"
#include "audit/audit_log.hpp"
#include "base/address.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/diagnose/machine_findings.hpp"
#include "cli/given_flags.hpp"
#include "cli/hidden_arguments.hpp"
#include "cli/log/log_file.hpp"
#include "cli/log/log_lines.hpp"
#include "cli/services/decisions_beside.hpp"
#include "cli/services/effective_config.hpp"
#include "cli/services/explain_resource.hpp"
#include "cli/services/running_gateway.hpp"
#include "cli/services/shut_in.hpp"
#include "cli/services/start_limit.hpp"
#include "cli/services/succession.hpp"
#include "cli/services/traces.hpp"
#include "config/load.hpp"
#include "config/stores.hpp"
#include "config/table/parsers.hpp"
#include "engine/background.hpp"
#include "engine/witness.hpp"
#include "gateway/server.hpp"
#include "http/access_log.hpp"
#include "process/passed_sockets.hpp"
#include "process/supervisor.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace onceguard::cli::services {
namespace {

using base::log_level;

/// Raises the soft limit of open files as far as allowed.
void allow_descriptors(std::size_t connections) {
  const auto wanted = static_cast<rlim_t>(diagnose::files_for(connections));
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < wanted) {
    base::log(base::event::too_few_descriptors, {{"limit", limit.rlim_cur}, {"needed", wanted}});
  }
}

admin::resolve_params act_params(milliseconds timeout, const gateway::server& server,
                                 const running_gateway& program) {
  admin::resolve_params out;
  out.timeout = timeout;
  out.audit = [&server] { return server.audit(); };
  out.retention = [&program](const std::string& route) { return program.retention(route); };
  return out;
}

/// The admin listener with all that it serves. It begins to listen before the gateway, so that a
/// start that takes long is seen.
class admin_listener {
 public:
  admin_listener(const config::settings& settings, gateway::server& server,
                 running_gateway& program, admin::request_metrics& requests,
                 const admin::recent_activity& recent)
      : records_(server.engine().records(), settings.admin.records_interval,
                 settings.store.timeout),
        history_(requests),
        kept_(settings.admin),
        server_(settings.admin) {
    const admin::build_labels build{std::string(version), sqlite::library_version(),
                                    server.engine().records().traits().name};
    server_.add(admin::health_resources(server.engine(), program));
    auto& records = server.engine().records();
    const auto timeout = settings.store.timeout;
    const admin::metric_sources sources{requests, records_,          server.engine(),
                                        program,  server.observed(), build};
    server_.add(admin::metric_resources(sources));
    server_.add(admin::overview_resources(sources, history_, kept_.known()));
    server_.add(admin::history_resources(kept_));
    server_.add(admin::recent_resources(recent));
    server_.add(admin::store_resources(
        sources,
        {without_passwords(settings.store.url), without_passwords(settings.accelerator.url),
         timeout, witness::path_in(settings.gateway.state_dir)}));
    spawn_background(server_.io(), "keep the history of the last hour", history_.run());
    if (settings.admin.page) server_.add_page("gateway");
    server_.add(admin::control_resources(program, server.observed()));
    const admin::audit_source audit = [&server] { return server.audit(); };
    server_.add(admin::audit_resources(audit));
    server_.add(admin::drain_resources(
        audit, [&program](const std::string& author) { program.drain(author); }));
    server_.add(explain_resources([&program] { return program.settings(); }, records));
    server_.add(admin::record_resources(records, timeout, audit));
    server_.add(admin::resolve_resources(records, act_params(timeout, server, program)));
    if (settings.admin.records_interval.count() > 0) {
      spawn_background(server_.io(), "count the records", records_.run());
    }
    program.set_admin(&server_, &requests);
  }

  [[nodiscard]] result<void> start(const http1::passed_listener& passed) {
    return server_.start(passed);
  }
  [[nodiscard]] std::string address() const { return server_.local().text(); }
  void wait_for_acts(base::boot_clock::time_point until) const { server_.wait_for_acts(until); }

 private:
  admin::record_counter records_;
  admin::traffic_history history_;
  admin::longer_history kept_;
  admin::server server_;
};

/// What the process was given at its start, and what it started then.
struct surroundings {
  process::supervisor manager;
  process::successor_starter starter;
  given_sockets sockets{};
  std::atomic<bool> logs{false};       ///< lines go where the configuration says
  std::optional<start_limit> limit{};  ///< of a successor that does not take requests yet
};

int start_failure_code(const error& why) {
  base::log(base::event::start_failed, {{"why", why.detail}});
  return why.code == errc::invalid_argument ? exit_configuration : exit_failed;
}

std::vector<int> released(std::vector<base::descriptor>& sockets) {
  std::vector<int> out;
  for (auto& one : sockets) out.push_back(one.release());
  return out;
}

int serve(const given_flags& given, const config::settings& settings, signal_queue& queue,
          store& records, log::log_lines& lines, admin::recent_activity& recent,
          surroundings& around) {
  // For scheduled reconciling.
  const auto query = config::make_query_source(settings, false);
  const auto traces = make_traces();
  admin::request_metrics requests;
  http::access_log access(settings.log.access);
  gateway::request_observers observers;
  if (settings.log.access != http::access_log_rule::off) observers.push_back(&access);
  if (settings.admin.enabled) {
    recent.begin();
    observers.push_back(&requests);
    observers.push_back(&recent);
  }
  if (traces) observers.push_back(&traces->tracer);
  gateway::server server(settings.gateway, settings.routing, records, query.get(),
                         std::move(observers), traces ? &traces->tracer : nullptr);
  running_gateway program(queue, server, given, settings, lines, traces.get(), around.manager,
                          around.starter);
  std::optional<admin_listener> listener;
  if (settings.admin.enabled) listener.emplace(settings, server, program, requests, recent);
  std::optional<decisions_beside> decisions;
  if (settings.serve.enabled) {
    decisions.emplace(server, records, settings);
    if (const auto fit = decisions->reload(settings); !fit) {
      return start_failure_code(error(fit.error().code, "[serve]: " + fit.error().detail));
    }
    program.set_decisions(&*decisions);
  }
  auto& sockets = around.sockets;
  const auto taken = sockets.taken();
  const auto admin = sockets.pass_admin();
  if (const auto started = listener ? listener->start(admin) : result<void>(); !started) {
    return start_failure_code(started.error());
  }
  if (const auto started = server.start(released(sockets.gateway)); !started) {
    base::log(base::event::start_failed, {{"why", started.error().detail}});
    return exit_failed;
  }
  base::log(base::event::listening, {{"address", text_of(server.local())},
                                     {"store", records.traits().name},
                                     {"upstreams", settings.routing.upstreams.size()},
                                     {"version", version}});
  if (listener) {
    base::log(base::event::admin_listening, {{"address", listener->address()}});
  }
  const auto clients = sockets.pass_serve();
  if (const auto started = decisions ? decisions->start(clients) : result<void>(); !started) {
    return start_failure_code(started.error());
  }
  if (decisions) {
    base::log(base::event::serving,
              {{"address", decisions->address()}, {"store", records.traits().name}});
  }
  sockets.former.relieve(taken);
  around.limit.reset();
  program.set_serving();
  std::thread waiter([&] {
    server.wait();
    if (listener) listener->wait_for_acts(program.drain_end());
    queue.io.stop();
  });
  queue.io.run();
  waiter.join();
  base::log(base::event::stopped);
  lines.flush();  // while signals are still handled
  return exit_ok;
}

int open_and_serve(const given_flags& given, const config::settings& settings, signal_queue& queue,
                   log::log_lines& lines, admin::recent_activity& recent, surroundings& around,
                   std::vector<process::passed_socket> passed) {
  auto sockets = sort_sockets(std::move(passed), settings);
  if (!sockets) return start_failure_code(sockets.error());
  around.sockets = *std::move(sockets);
  auto records = config::open_store(settings);
  if (!records) {
    base::log(base::event::store_not_opened, {{"why", records.error().detail}});
    return exit_configuration;
  }
  const int exit_code = serve(given, settings, queue, **records, lines, recent, around);
  (*records)->stop();
  return exit_code;
}

int run_gateway(const given_flags& given) {
  // SIGUSR1 and SIGUSR2 are ignored until the gateway handles them. SIGTTOU is always ignored, so
  // that writing to a terminal never stops the gateway.
  for (const int other : {SIGUSR1, SIGUSR2, SIGTTOU}) std::signal(other, SIG_IGN);
  auto manager = process::supervisor::of_environment();
  auto passed = process::take_passed_sockets();
  auto starter =
      process::successor_starter::begin(given_words(), manager.variables(), shown_words());
  surroundings around{.manager = std::move(manager), .starter = std::move(starter)};
  const bool succeeds = have_predecessor(passed);
  if (succeeds) around.limit.emplace(start_patience, [&around] { end_late_start(around.logs); });
  auto read = load_config(given, true);
  if (!read) return exit_configuration;
  const auto descriptor = log::log_descriptor(read->values.log);
  if (!descriptor) return exit_failed;
  const auto open_parts = shut_in(read->values);
  // Before the first attempt on the store, which may take long: a signal drains the gateway instead
  // of killing it.
  signal_queue queue;
  log::log_lines lines(read->values.log, *descriptor);
  admin::recent_activity recent(lines);
  base::set_log_sink(&recent);
  around.logs = true;
  log_shut_in(open_parts);
  log::log_remarks(read->remarks);
  allow_descriptors(read->values.gateway.max_connections);
  // Until the predecessor has announced this process, what is said of the unit is its business.
  if (!succeeds) around.manager.say_status("opening the store");
  const int exit_code =
      open_and_serve(given, read->values, queue, lines, recent, around, std::move(passed));
  around.limit.reset();
  base::set_log_sink(nullptr);
  return exit_code;
}

}  // namespace

void add_gateway_command(const command& added) {
  const auto given = add_all_flags(added);
  added.runs([=] { return run_gateway(*given); });
}

}  // namespace onceguard::cli::services
