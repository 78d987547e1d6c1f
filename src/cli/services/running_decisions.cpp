#include "cli/services/running_decisions.hpp"

#include <csignal>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/log.hpp"
#include "cli/log/log_file.hpp"

namespace onceguard::cli::services {

running_decisions::running_decisions(const given_flags& given, config::settings running,
                                     log::log_lines& lines, process::supervisor manager,
                                     process::successor_starter& starter)
    : given_(given),
      running_(std::move(running)),
      signals_(std::stop_source(), hooks(), lines, std::move(manager)),
      succession_(signals_.io(), starter) {
  signals_.begin();
}

std::function<void()> running_decisions::locked(void (running_decisions::*reaction)()) {
  return [this, reaction] {
    const std::lock_guard lock(mutex_);
    (this->*reaction)();
  };
}

signal_hooks running_decisions::hooks() {
  return {.status =
              [this] {
                const std::lock_guard lock(mutex_);
                return status();
              },
          .stopping_status = "operations that run are settled",
          .reload = locked(&running_decisions::reload),
          .upgrade = locked(&running_decisions::upgrade),
          .stopping = locked(&running_decisions::drain),
          .late_reload =
              [this] {
                const std::lock_guard lock(mutex_);
                succession_.pass_on(SIGHUP);
              }};
}

void running_decisions::serve(const parts* service) {
  const std::lock_guard lock(mutex_);
  service_ = service;
  if (service == nullptr) return;
  signals_.say_ready();
  if (stop_requested()) return service->server.drain();
  boost::asio::post(signals_.io(), locked(&running_decisions::react_to_early_signals));
}

// ---- on the thread of the signals, under the mutex

std::string running_decisions::status() const {
  if (service_ == nullptr) return "starting";
  return "answering clients at " + service_->server.local().text();
}

void running_decisions::react_to_early_signals() {
  if (std::exchange(reload_waits_, false)) reload();
  if (std::exchange(upgrade_waits_, false)) upgrade();
}

void running_decisions::drain() {
  succession_.stop();
  if (service_ != nullptr) service_->server.drain();
}

/// Why this process must not be replaced while it runs; empty: it may.
std::string running_decisions::upgrade_refusal() const {
  if (stop_requested()) return "the service drains";
  return succession_.refusal(service_->shares_store);
}

void running_decisions::upgrade() {
  const auto refuse = [](const std::string& why) {
    base::log(base::event::upgrade_refused, {{"why", why}});
  };
  if (service_ == nullptr && !stop_requested()) {
    upgrade_waits_ = true;
    return;
  }
  if (const auto why = upgrade_refusal(); !why.empty()) return refuse(why);
  succession::inheritance left;
  left.serve = running_.serve.listen.text();
  left.made_serve_file = service_->server.made_file();
  left.store = store_text(running_);
  left.sockets.emplace_back("serve", service_->server.socket());
  if (running_.admin.enabled) {
    left.admin = running_.admin.address.text();
    left.made_admin_file = service_->admin.made_file();
    left.sockets.emplace_back("admin", service_->admin.socket());
  }
  const auto failed = [](pid_t successor) {
    base::log(base::event::upgrade_failed, {{"pid", successor}});
  };
  const auto begun = succession_.begin(
      left, [this](const auto& successor) { hand_over(successor); }, failed);
  if (!begun) return refuse(begun.error().detail);
  base::log(base::event::upgrade_begun, {{"pid", *begun}});
}

/// The successor answers clients: this process takes no more of them.
void running_decisions::hand_over(const succession::word& successor) {
  const std::lock_guard lock(mutex_);
  signals_.change_main_process(successor.number);
  succession_.confirm();
  base::log(base::event::handed_over, {{"pid", successor.number}});
  if (stop_requested() || service_ == nullptr) return;
  auto stop = signals_.stop();
  stop.request_stop();
  if (running_.admin.enabled) service_->admin.hand_over(successor.took.admin);
  service_->server.hand_over(successor.took.serve);
}

void running_decisions::reload() {
  if (service_ == nullptr) {
    reload_waits_ = true;
    return;
  }
  succession_.pass_on(SIGHUP);
  const bool taken = take_configuration();
  base::log(taken ? base::event::reloaded : base::event::reload_refused, {{"by", "SIGHUP"}});
}

bool running_decisions::take_configuration() {
  auto source = sources_of(given_, false);
  source.need_content = !running_.says_nothing;
  const auto read = config::load(source);
  log::log_remarks(read.remarks);
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

}  // namespace onceguard::cli::services
