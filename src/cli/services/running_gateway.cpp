#include "cli/services/running_gateway.hpp"

#include <cstdlib>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "audit/audit_log.hpp"
#include "base/address.hpp"
#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/diagnose/machine_findings.hpp"
#include "cli/log/log_file.hpp"
#include "cli/services/effective_config.hpp"
#include "cli/services/run_signals.hpp"
#include "config/table/parsers.hpp"
#include "sandbox/sandbox.hpp"

namespace onceguard::cli::services {
namespace {

/// Between two looks at the store for the status that the service manager shows.
constexpr std::chrono::seconds status_interval{5};

void log_reopened(const std::string& path, const std::string& why) {
  if (why.empty()) return base::log(base::event::log_file_reopened, {{"path", path}});
  base::log(base::event::log_file_not_reopened, {{"path", path}, {"why", why}});
}

}  // namespace

running_gateway::running_gateway(signal_queue& queue, gateway::server& server,
                                 const given_flags& given, config::settings running,
                                 log::log_lines& lines, const traces* spans,
                                 process::supervisor manager, process::successor_starter& starter)
    : io_(queue.io),
      signals_(queue.signals),
      drain_delay_(queue.io),
      beat_(queue.io),
      server_(server),
      given_(given),
      running_(std::move(running)),
      lines_(lines),
      spans_(spans),
      manager_(std::move(manager)),
      succession_(queue.io, starter),
      effective_(running_) {
  wait();
}

void running_gateway::set_admin(admin::server* listener, admin::request_metrics* requests) {
  admin_ = listener;
  requests_ = requests;
  requests_->expect(effective_.routing.route_names());
}

void running_gateway::set_serving() {
  serving_ = true;
  if (draining_) return;  // a signal during the start
  manager_.say_ready(status_ = status());
  if (manager_.listens()) beat();
}

admin::phase running_gateway::phase_now() const noexcept {
  if (draining_ || server_.load().draining) return admin::phase::draining;
  return serving_ ? admin::phase::serving : admin::phase::starting;
}

admin::program_gauges running_gateway::gauges() const {
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
  const auto limits = sandbox::in_force();
  out.files_limited = limits.files;
  out.calls_limited = limits.calls;
  const std::lock_guard lock(effective_mutex_);
  out.certificates = certificate_ends(effective_);
  return out;
}

std::string running_gateway::configuration() const {
  const std::lock_guard lock(effective_mutex_);
  return effective_config(effective_);
}

config::settings running_gateway::settings() const {
  const std::lock_guard lock(effective_mutex_);
  return effective_;
}

milliseconds running_gateway::retention(const std::string& route) const {
  const std::lock_guard lock(effective_mutex_);
  return config::retention_of(effective_, route);
}

boost::asio::awaitable<admin::reload_outcome> running_gateway::reload(std::string author) {
  co_return co_await boost::asio::co_spawn(io_, reload_here(std::move(author)),
                                           boost::asio::use_awaitable);
}

void running_gateway::drain(std::string author) {
  boost::asio::post(io_, [this, author = std::move(author)] { end(SIGTERM, author); });
}

void running_gateway::wait() {
  signals_.async_wait([this](boost::system::error_code failed, int signal) {
    if (failed) return;
    take(signal);
    wait();
  });
}

void running_gateway::take(int signal) {
  switch (signal) {
    case SIGHUP:
      static_cast<void>(reload_now("SIGHUP"));
      return;
    case SIGUSR1:
      succession_.pass_on(SIGUSR1);
      if (!running_.log.file.empty()) reopen_log();
      if (!running_.gateway.audit_log.empty()) return reopen_audit();
      if (!running_.log.file.empty()) return;
      return base::log(base::event::signal_ignored, {{"signal", "SIGUSR1"}});
    case SIGUSR2:
      return upgrade();
    default:
      return end(signal, name_of_stop(signal));
  }
}

void running_gateway::end(int signal, std::string_view author) {
  if (signal == SIGINT && std::exchange(interrupted_, true)) {
    base::log(base::event::stopped_early);
    lines_.flush();
    std::_Exit(exit_failed);
  }
  if (draining_) return server_.forbid_overtime();
  const auto delay = running_.gateway.drain_delay;
  drain_end_ = base::boot_now() + delay + running_.gateway.drain;
  draining_ = true;
  succession_.stop();
  manager_.say_stopping(status());
  base::log(base::event::draining, {{"at_most", config::duration_text(running_.gateway.drain)},
                                    {"delay", config::duration_text(delay)},
                                    {"by", author}});
  if (delay.count() == 0) return drain_all();
  drain_delay_.expires_after(delay);
  drain_delay_.async_wait([this](boost::system::error_code failed) {
    if (!failed) drain_all();
  });
}

void running_gateway::drain_all() {
  if (decisions_ != nullptr) decisions_->drain();
  server_.drain();
}

void running_gateway::reopen_log() {
  const auto& path = running_.log.file;
  const auto opened = log::open_log_file(path);
  if (opened) lines_.redirect(*opened);
  log_reopened(path, opened ? "" : opened.error().detail);
}

void running_gateway::reopen_audit() {
  const auto done = server_.audit() != nullptr ? server_.audit()->reopen() : result<void>();
  log_reopened(running_.gateway.audit_log, done ? "" : done.error().detail);
}

admin::reload_outcome running_gateway::reload_now(std::string_view author) {
  succession_.pass_on(SIGHUP);
  manager_.say_reloading();
  auto out = take_configuration(author);
  manager_.say_ready(status_ = status());
  return out;
}

admin::reload_outcome running_gateway::take_configuration(std::string_view author) {
  admin::reload_outcome out;
  auto source = sources_of(given_, true);
  // A file that is just being written is empty for a while, and would take all rules away.
  source.need_content = !effective_.says_nothing;
  auto read = config::load(source);
  log::log_remarks(read.remarks);
  for (const auto& r : read.remarks) {
    if (r.weight == config::remark::grade::fault) out.faults.push_back(r.text());
  }
  auto tokens = admin_ ? admin_->read_tokens() : result<admin::server::tokens>(nullptr);
  if (!tokens) {
    out.faults.push_back(tokens.error().detail);
    base::log(base::event::admin_tokens_refused, {{"why", tokens.error().detail}});
  }
  if (decisions_ != nullptr && read.ok() && out.faults.empty()) {
    if (const auto taken = decisions_->reload(read.values); !taken) {
      out.faults.push_back("[serve]: " + taken.error().detail);
      base::log(base::event::rules_refused, {{"why", taken.error().detail}});
    }
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
  const auto changed = set_routing(std::move(read.values));
  base::log(base::event::reloaded, {{"by", author}, {"changed", changed}});
  return out;
}

/// What is only read at a start stays as it was. What changes, for people.
std::string running_gateway::set_routing(config::settings read) {
  read.fixed = running_.fixed;
  auto changed = changed_settings(effective_, read);
  if (requests_ != nullptr) requests_->expect(read.routing.route_names());
  server_.reload(read.routing);
  const std::lock_guard lock(effective_mutex_);
  effective_ = std::move(read);
  return changed;
}

boost::asio::awaitable<admin::reload_outcome> running_gateway::reload_here(std::string author) {
  co_return reload_now(author);
}

/// Why this process must not be replaced while it runs; empty: it may.
std::string running_gateway::upgrade_refusal() const {
  if (draining_) return "the gateway drains";
  if (!serving_) return "the start is not over";
  return succession_.refusal(server_.engine().records().traits().shared);
}

void running_gateway::upgrade() {
  const auto refuse = [](const std::string& why) {
    base::log(base::event::upgrade_refused, {{"why", why}});
  };
  if (const auto why = upgrade_refusal(); !why.empty()) return refuse(why);
  succession::inheritance left;
  left.listen = base::text_of(running_.gateway.listen);
  left.store = store_text(running_);
  for (const int socket : server_.sockets()) left.sockets.emplace_back("gateway", socket);
  if (admin_ != nullptr) {
    left.admin = running_.admin.address.text();
    left.made_admin_file = admin_->made_file();
    left.sockets.emplace_back("admin", admin_->socket());
  }
  if (decisions_ != nullptr) {
    left.serve = running_.serve.listen.text();
    left.made_serve_file = decisions_->made_file();
    left.sockets.emplace_back("serve", decisions_->socket());
  }
  const auto failed = [](pid_t successor) {
    base::log(base::event::upgrade_failed, {{"pid", successor}});
  };
  const auto begun = succession_.begin(
      left, [this](const auto& successor) { hand_over(successor); }, failed);
  if (!begun) return refuse(begun.error().detail);
  base::log(base::event::upgrade_begun, {{"pid", *begun}});
}

/// The successor takes requests: this process takes no more.
void running_gateway::hand_over(const succession::word& successor) {
  manager_.say_main_process(successor.number);
  // Whatever this process said from now on would be said of the successor.
  manager_ = {};
  succession_.confirm();
  base::log(base::event::handed_over, {{"pid", successor.number}});
  if (draining_) return;  // a signal in the meantime
  drain_end_ = base::boot_now() + running_.gateway.drain;
  draining_ = true;
  if (admin_ != nullptr) admin_->hand_over(successor.took.admin);
  if (decisions_ != nullptr) decisions_->hand_over(successor.took.serve);
  server_.drain(gateway::listening_by::successor);
}

void running_gateway::beat() {
  if (!manager_.listens()) return;
  check_threads();
  if (stuck_.empty() && manager_.alive_interval().count() > 0) manager_.say_alive();
  if (auto now = status(); now != status_) manager_.say_status(status_ = std::move(now));
  const auto half = manager_.alive_interval() / 2;
  beat_.expires_after(half.count() > 0 ? half : std::chrono::microseconds(status_interval));
  beat_.async_wait([this](boost::system::error_code cancelled) {
    if (!cancelled) beat();
  });
}

void running_gateway::check_threads() {
  // A drain ends by itself, and its threads before the others.
  auto stuck = draining_ ? std::string() : server_.stuck();
  if (!stuck.empty() && stuck != stuck_ && manager_.alive_interval().count() > 0) {
    base::log(base::event::thread_stuck, {{"stuck", stuck}});
  }
  stuck_ = std::move(stuck);
}

/// A line for `systemctl status`.
std::string running_gateway::status() const {
  if (draining_) return "draining: running requests finish";
  auto out = "taking requests at " + base::text_of(server_.local());
  if (reload_refused_) out += "; the last reload was refused";
  const auto health = server_.engine().health();
  if (!health.up && !health.why.empty()) out += "; the store: " + health.why;
  return out;
}

}  // namespace onceguard::cli::services
