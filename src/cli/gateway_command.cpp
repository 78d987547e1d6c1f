#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <sys/resource.h>
#include <system_error>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/doctor/surroundings.hpp"
#include "cli/given_flags.hpp"
#include "cli/log_lines.hpp"
#include "cli/traces.hpp"
#include "config/load.hpp"
#include "config/stores.hpp"
#include "config/texts.hpp"
#include "gateway/params/http_url.hpp"
#include "gateway/server.hpp"
#include "http/access_log.hpp"

namespace onceguard::cli {
namespace {

using base::log_level;

/// Raises the soft limit of open files as far as allowed.
void allow_descriptors(std::size_t connections) {
  const auto wanted = static_cast<rlim_t>(files_for(connections));
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < wanted) {
    base::log(base::event::too_few_descriptors, {{"limit", limit.rlim_cur}, {"needed", wanted}});
  }
}

void log_remarks(const config::remarks& remarks) {
  for (const auto& r : remarks) {
    if (r.weight == config::remark::grade::note) continue;
    const bool fault = r.weight == config::remark::grade::fault;
    base::log(base::event::configuration, fault ? log_level::error : log_level::warning,
              {{"at", r.position.text()}, {"remark", r.message}});
  }
}

/// Opens the log file to append; below 0: errno has the reason. For its owner and group alone, as
/// it names clients.
int open_log(const std::string& path) {
  constexpr mode_t rights = 0640;
  return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, rights);
}

/// Handles signals of a running gateway. The io_context runs on the main thread.
class signal_watch {
 public:
  signal_watch(boost::asio::io_context& io, gateway::server& server, const given_flags& given,
               config::settings running, log_lines& lines)
      : signals_(io, SIGINT, SIGTERM, SIGHUP),
        server_(server),
        given_(given),
        running_(std::move(running)),
        lines_(lines) {
    for (const int other : {SIGQUIT, SIGUSR1, SIGUSR2}) signals_.add(other);
    wait();
  }

 private:
  void wait() {
    signals_.async_wait([this](boost::system::error_code failed, int signal) {
      if (failed) return;
      take(signal);
      wait();
    });
  }

  void take(int signal) {
    switch (signal) {
      case SIGHUP:
        return reload();
      case SIGUSR1:
        if (!running_.log.file.empty()) return reopen_log();
        [[fallthrough]];
      case SIGUSR2:
        return base::log(base::event::signal_ignored,
                         {{"signal", signal == SIGUSR1 ? "SIGUSR1" : "SIGUSR2"}});
      default:
        return end(signal);
    }
  }

  void end(int signal) {
    if (draining_ && signal == SIGINT) {
      base::log(base::event::stopped_early);
      lines_.flush();
      std::_Exit(exit_failed);
    }
    if (draining_) return;
    draining_ = true;
    base::log(base::event::draining, {{"at_most", config::duration_text(running_.gateway.drain)}});
    server_.drain();
  }

  void reopen_log() {
    const auto& path = running_.log.file;
    const int opened = open_log(path);
    if (opened < 0) {
      const auto why = std::generic_category().message(errno);
      return base::log(base::event::log_file_not_reopened, {{"path", path}, {"why", why}});
    }
    lines_.redirect(opened);
    base::log(base::event::log_file_reopened, {{"path", path}});
  }

  void reload() {
    auto read = config::load(sources_of(given_, true));
    log_remarks(read.remarks);
    if (!read.ok()) {
      base::log(base::event::reload_refused);
      return;
    }
    for (const auto& name : config::fixed_changes(running_, read.values)) {
      base::log(base::event::restart_needed, {{"option", name}});
    }
    server_.reload(std::move(read.values.routing));
    base::log(base::event::reloaded);
  }

  boost::asio::signal_set signals_;
  gateway::server& server_;
  const given_flags& given_;
  const config::settings running_;
  log_lines& lines_;
  bool draining_ = false;
};

int serve(const given_flags& given, const config::settings& settings, store& records,
          log_lines& lines) {
  // For scheduled reconciling.
  const auto query = config::make_query_source(settings, false);
  const auto traces = make_traces();
  http::access_log access(settings.log.access);
  gateway::request_observers observers;
  if (settings.log.access != http::access_log_rule::off) observers.push_back(&access);
  if (traces) observers.push_back(&traces->tracer);
  gateway::server server(settings.gateway, settings.routing, records, query.get(),
                         std::move(observers), traces ? &traces->tracer : nullptr);
  boost::asio::io_context io(1);
  // Before the start, so that a signal during the start drains the gateway instead of killing it.
  signal_watch watch(io, server, given, settings, lines);
  if (const auto started = server.start(); !started) {
    base::log(base::event::start_failed, {{"why", started.error().detail}});
    return exit_failed;
  }
  base::log(base::event::listening, {{"address", text_of(server.local())},
                                     {"store", records.traits().name},
                                     {"upstreams", settings.routing.upstreams.size()},
                                     {"version", ONCEGUARD_VERSION}});
  std::thread waiter([&] {
    server.wait();
    io.stop();
  });
  io.run();
  waiter.join();
  base::log(base::event::stopped);
  lines.flush();  // while signals are still handled
  return exit_ok;
}

int run_gateway(const given_flags& given) {
  // SIGUSR1 and SIGUSR2 are ignored until the gateway handles them. SIGTTOU is always ignored, so
  // that writing to a terminal never stops the gateway.
  for (const int other : {SIGUSR1, SIGUSR2, SIGTTOU}) std::signal(other, SIG_IGN);
  auto read = config::load(sources_of(given, true));
  if (!read.ok()) {
    for (const auto& r : read.remarks) {
      if (r.weight == config::remark::grade::fault) std::cerr << r.text() << "\n";
    }
    return exit_configuration;
  }
  int descriptor = STDERR_FILENO;
  if (const auto& path = read.values.log.file; !path.empty()) {
    descriptor = open_log(path);
    if (descriptor < 0) {
      std::cerr << "onceguard: [gateway] log_file " << path << ": "
                << std::generic_category().message(errno) << "\n";
      return exit_failed;
    }
  }
  log_lines lines(read.values.log, descriptor);
  base::set_log_sink(&lines);
  log_remarks(read.remarks);
  allow_descriptors(read.values.gateway.max_connections);
  int exit_code = exit_configuration;
  auto records = config::open_store(read.values);
  if (records) {
    exit_code = serve(given, read.values, **records, lines);
    (*records)->stop();
  } else {
    base::log(base::event::store_not_opened, {{"why", records.error().detail}});
  }
  base::set_log_sink(nullptr);
  return exit_code;
}

}  // namespace

void add_gateway_command(command app) {
  const auto added = app.add_command(
      "gateway", "Stand in front of an HTTP service and make every retry take effect once");
  const auto given = add_all_flags(added);
  added.footer(
      "SIGTERM, SIGINT and SIGQUIT drain: running requests finish. A second SIGINT ends it at\n"
      "once. SIGUSR1 opens the log file anew. SIGUSR2 is logged, and nothing else.\n"
      "SIGHUP reads the configuration again: upstreams, routes and their policies change; a\n"
      "wrong one is refused, and the old one stays.\n\n"
      "Example:\n"
      "  onceguard gateway --listen 127.0.0.1:8080 --upstream http://127.0.0.1:9000 \\\n"
      "    --store sqlite:onceguard.db");
  added.runs([=] { return run_gateway(*given); });
}

}  // namespace onceguard::cli
