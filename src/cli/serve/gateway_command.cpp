#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
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

#include "admin/control_api.hpp"
#include "admin/health.hpp"
#include "admin/metrics.hpp"
#include "admin/program.hpp"
#include "admin/record_api.hpp"
#include "admin/resolve_api.hpp"
#include "admin/server.hpp"
#include "audit/audit_log.hpp"
#include "base/address.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/diagnose/surroundings.hpp"
#include "cli/flags/given_flags.hpp"
#include "cli/log/log_file.hpp"
#include "cli/log/log_lines.hpp"
#include "cli/serve/effective_config.hpp"
#include "cli/serve/traces.hpp"
#include "config/load.hpp"
#include "config/stores.hpp"
#include "config/table/parsers.hpp"
#include "engine/background.hpp"
#include "gateway/server.hpp"
#include "http/access_log.hpp"
#include "store/sqlite/sqlite_store.hpp"

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

/// The signals of the gateway, on the main thread. What comes before somebody waits is kept.
struct signal_queue {
  signal_queue() {
    for (const int other : {SIGQUIT, SIGUSR1, SIGUSR2}) signals.add(other);
  }
  boost::asio::io_context io{1};
  boost::asio::signal_set signals{io, SIGINT, SIGTERM, SIGHUP};
};

/// The running gateway, for signals and for the admin listener.
class running_gateway final : public admin::program {
 public:
  running_gateway(signal_queue& queue, gateway::server& server, const given_flags& given,
                  config::settings running, log_lines& lines, const traces* spans)
      : io_(queue.io),
        signals_(queue.signals),
        drain_delay_(queue.io),
        server_(server),
        given_(given),
        running_(std::move(running)),
        lines_(lines),
        spans_(spans),
        effective_(running_) {
    wait();
  }

  /// A reload also reads the listener's tokens. Before the io_context runs.
  void set_admin(admin::server* listener, admin::request_metrics* requests) {
    admin_ = listener;
    requests_ = requests;
    requests_->expect(effective_.routing.route_names());
  }
  void set_serving() noexcept { serving_ = true; }

  [[nodiscard]] admin::phase phase_now() const noexcept override {
    if (draining_ || server_.load().draining) return admin::phase::draining;
    return serving_ ? admin::phase::serving : admin::phase::starting;
  }
  [[nodiscard]] admin::program_gauges gauges() const override {
    const auto load = server_.load();
    admin::program_gauges out;
    out.connections = load.connections;
    out.connections_max = load.connections_max;
    out.connections_refused = load.connections_refused;
    out.buffered_bytes = load.buffered;
    out.buffered_bytes_max = load.buffered_max;
    out.log_lines_dropped = lines_.dropped();
    out.log_lines_left_out = lines_.left_out();
    if (spans_ != nullptr) out.spans_dropped = spans_->queue.dropped();
    out.reload_refused = reload_refused_;
    out.reloads_refused = reloads_refused_;
    const std::lock_guard lock(effective_mutex_);
    out.certificates = certificate_ends(effective_);
    return out;
  }
  [[nodiscard]] std::string configuration() const override {
    const std::lock_guard lock(effective_mutex_);
    return effective_config(effective_);
  }
  /// For how long a record of this route keeps its answer, by the latest configuration.
  [[nodiscard]] milliseconds retention(const std::string& route) const {
    const std::lock_guard lock(effective_mutex_);
    return config::retention_of(effective_, route);
  }
  boost::asio::awaitable<admin::reload_outcome> reload(std::string author) override {
    co_return co_await boost::asio::co_spawn(io_, reload_here(std::move(author)),
                                             boost::asio::use_awaitable);
  }
  void drain(std::string author) override {
    boost::asio::post(io_, [this, author = std::move(author)] { end(SIGTERM, author); });
  }
  /// What is done by then has had its time; from the begin of a drain on.
  [[nodiscard]] base::boot_clock::time_point drain_end() const noexcept { return drain_end_; }

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
        reload_now("SIGHUP");
        return;
      case SIGUSR1:
        if (!running_.log.file.empty()) reopen_log();
        if (!running_.gateway.audit_log.empty()) return reopen_audit();
        if (!running_.log.file.empty()) return;
        [[fallthrough]];
      case SIGUSR2:
        return base::log(base::event::signal_ignored,
                         {{"signal", signal == SIGUSR1 ? "SIGUSR1" : "SIGUSR2"}});
      default:
        return end(signal, signal == SIGTERM ? "SIGTERM" : signal == SIGINT ? "SIGINT" : "SIGQUIT");
    }
  }

  void end(int signal, std::string_view author) {
    if (signal == SIGINT && std::exchange(interrupted_, true)) {
      base::log(base::event::stopped_early);
      lines_.flush();
      std::_Exit(exit_failed);
    }
    if (draining_) return;
    const auto delay = running_.gateway.drain_delay;
    drain_end_ = base::boot_now() + delay + running_.gateway.drain;
    draining_ = true;
    base::log(base::event::draining, {{"at_most", config::duration_text(running_.gateway.drain)},
                                      {"delay", config::duration_text(delay)},
                                      {"by", author}});
    if (delay.count() == 0) return server_.drain();
    drain_delay_.expires_after(delay);
    drain_delay_.async_wait([this](boost::system::error_code failed) {
      if (!failed) server_.drain();
    });
  }

  void reopen_log() {
    const auto& path = running_.log.file;
    const auto opened = open_log_file(path);
    if (opened) lines_.redirect(*opened);
    log_reopened(path, opened ? "" : opened.error().detail);
  }
  void reopen_audit() {
    const auto done = server_.audit() != nullptr ? server_.audit()->reopen() : result<void>();
    log_reopened(running_.gateway.audit_log, done ? "" : done.error().detail);
  }
  static void log_reopened(const std::string& path, const std::string& why) {
    if (why.empty()) return base::log(base::event::log_file_reopened, {{"path", path}});
    base::log(base::event::log_file_not_reopened, {{"path", path}, {"why", why}});
  }

  admin::reload_outcome reload_now(std::string_view author) {
    admin::reload_outcome out;
    auto source = sources_of(given_, true);
    // A file that is just being written is empty for a while, and would take all rules away.
    source.need_content = !effective_.says_nothing;
    auto read = config::load(source);
    log_remarks(read.remarks);
    for (const auto& r : read.remarks) {
      if (r.weight == config::remark::grade::fault) out.faults.push_back(r.text());
    }
    auto tokens = admin_ ? admin_->read_tokens() : result<admin::server::tokens>(nullptr);
    if (!tokens) {
      out.faults.push_back(tokens.error().detail);
      base::log(base::event::admin_tokens_refused, {{"why", tokens.error().detail}});
    }
    if (!out.faults.empty() || !read.ok()) {
      base::log(base::event::reload_refused);
      ++reloads_refused_;
      reload_refused_ = true;
      return out;
    }
    reload_refused_ = false;
    out.restart_needed = config::fixed_changes(running_, read.values);
    for (const auto& name : out.restart_needed) {
      base::log(base::event::restart_needed, {{"option", name}});
    }
    if (admin_) admin_->set_tokens(*std::move(tokens));
    set_routing(std::move(read.values));
    base::log(base::event::reloaded, {{"by", author}});
    return out;
  }
  /// What is only read at a start stays as it was.
  void set_routing(config::settings read) {
    read.fixed = running_.fixed;
    if (requests_ != nullptr) requests_->expect(read.routing.route_names());
    server_.reload(read.routing);
    const std::lock_guard lock(effective_mutex_);
    effective_ = std::move(read);
  }
  boost::asio::awaitable<admin::reload_outcome> reload_here(std::string author) {
    co_return reload_now(author);
  }

  boost::asio::io_context& io_;
  boost::asio::signal_set& signals_;
  boost::asio::steady_timer drain_delay_;
  gateway::server& server_;
  const given_flags& given_;
  const config::settings running_;
  log_lines& lines_;
  const traces* spans_;  // null: none are sent
  mutable std::mutex effective_mutex_;
  config::settings effective_;  // under the mutex
  admin::server* admin_ = nullptr;
  admin::request_metrics* requests_ = nullptr;
  std::atomic<bool> serving_{false};
  std::atomic<bool> reload_refused_{false};  // the last one
  std::atomic<std::uint64_t> reloads_refused_{0};
  std::atomic<bool> draining_{false};
  bool interrupted_ = false;  // by a first SIGINT
  std::atomic<base::boot_clock::time_point> drain_end_{};
};

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
                 running_gateway& program, admin::request_metrics& requests)
      : records_(server.engine().records(), settings.admin.records_interval,
                 settings.store.timeout),
        server_(settings.admin) {
    const admin::build_labels build{std::string(version), sqlite::library_version(),
                                    server.engine().records().traits().name};
    server_.add(admin::health_resources(server.engine(), program));
    auto& records = server.engine().records();
    const auto timeout = settings.store.timeout;
    server_.add(admin::metric_resources(
        {requests, records_, server.engine(), program, server.observed(), build}));
    server_.add(admin::control_resources(program, server.observed()));
    server_.add(admin::record_resources(records, timeout));
    server_.add(admin::resolve_resources(records, act_params(timeout, server, program)));
    if (settings.admin.records_interval.count() > 0) {
      spawn_background(server_.io(), "count the records", records_.run());
    }
    program.set_admin(&server_, &requests);
  }

  [[nodiscard]] result<void> start() { return server_.start(); }
  [[nodiscard]] std::string address() const { return server_.local().text(); }
  void wait_for_acts(base::boot_clock::time_point until) const { server_.wait_for_acts(until); }

 private:
  admin::record_counter records_;
  admin::server server_;
};

int serve(const given_flags& given, const config::settings& settings, signal_queue& queue,
          store& records, log_lines& lines) {
  // For scheduled reconciling.
  const auto query = config::make_query_source(settings, false);
  const auto traces = make_traces();
  admin::request_metrics requests;
  http::access_log access(settings.log.access);
  gateway::request_observers observers;
  if (settings.log.access != http::access_log_rule::off) observers.push_back(&access);
  if (settings.admin.enabled) observers.push_back(&requests);
  if (traces) observers.push_back(&traces->tracer);
  gateway::server server(settings.gateway, settings.routing, records, query.get(),
                         std::move(observers), traces ? &traces->tracer : nullptr);
  running_gateway program(queue, server, given, settings, lines, traces.get());
  std::optional<admin_listener> listener;
  if (settings.admin.enabled) listener.emplace(settings, server, program, requests);
  if (const auto started = listener ? listener->start() : result<void>(); !started) {
    base::log(base::event::start_failed, {{"why", started.error().detail}});
    const bool wrong = started.error().code == errc::invalid_argument;
    return wrong ? exit_configuration : exit_failed;
  }
  if (const auto started = server.start(); !started) {
    base::log(base::event::start_failed, {{"why", started.error().detail}});
    return exit_failed;
  }
  program.set_serving();
  base::log(base::event::listening, {{"address", text_of(server.local())},
                                     {"store", records.traits().name},
                                     {"upstreams", settings.routing.upstreams.size()},
                                     {"version", version}});
  if (listener) {
    base::log(base::event::admin_listening, {{"address", listener->address()}});
  }
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

int run_gateway(const given_flags& given) {
  // SIGUSR1 and SIGUSR2 are ignored until the gateway handles them. SIGTTOU is always ignored, so
  // that writing to a terminal never stops the gateway.
  for (const int other : {SIGUSR1, SIGUSR2, SIGTTOU}) std::signal(other, SIG_IGN);
  auto read = load_config(given, true);
  if (!read) return exit_configuration;
  const auto descriptor = log_descriptor(read->values.log);
  if (!descriptor) return exit_failed;
  // Before the first attempt on the store, which may take long: a signal drains the gateway instead
  // of killing it.
  signal_queue queue;
  log_lines lines(read->values.log, *descriptor);
  base::set_log_sink(&lines);
  log_remarks(read->remarks);
  allow_descriptors(read->values.gateway.max_connections);
  int exit_code = exit_configuration;
  auto records = config::open_store(read->values);
  if (records) {
    exit_code = serve(given, read->values, queue, **records, lines);
    (*records)->stop();
  } else {
    base::log(base::event::store_not_opened, {{"why", records.error().detail}});
  }
  base::set_log_sink(nullptr);
  return exit_code;
}

}  // namespace

void add_gateway_command(const command& added) {
  const auto given = add_all_flags(added);
  added.runs([=] { return run_gateway(*given); });
}

}  // namespace onceguard::cli
