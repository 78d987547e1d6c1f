#include <atomic>
#include <iostream>
#include <stop_token>
#include <thread>
#include <vector>

#include "admin/relay_metrics.hpp"
#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/flags/given_flags.hpp"
#include "cli/serve/until_stopped.hpp"
#include "relay/relay.hpp"

namespace onceguard::cli {
namespace {

/// All relays of the configuration, until one can't begin or a stop is requested.
class relays {
 public:
  relays(const config::settings& settings, std::stop_source stop)
      : settings_(settings), stop_(std::move(stop)), counters_(settings.relays.size()) {}

  /// Blocks. Returns the exit code.
  int run() {
    admin::server listener(settings_.admin);
    if (settings_.admin.enabled) {
      listener.add(admin::relay_resources([this] { return numbers_of_all(); }));
      if (const int code = start_listener(listener); code != exit_ok) return code;
    }
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < settings_.relays.size(); ++i) {
      base::log(base::event::relaying, {{"relay", std::string_view(settings_.relays[i].name)}});
      threads.emplace_back([this, i] { relay_from(i); });
    }
    threads.clear();
    for (std::size_t i = 0; i < counters_.size(); ++i) report(i);
    return exit_code_;
  }

 private:
  void relay_from(std::size_t index) {
    const auto& params = settings_.relays[index];
    const auto done = relay::run(params, counters_[index], stop_.get_token());
    if (done) return;
    exit_code_ = start_failed("[[relay]] " + params.name, done.error());
    stop_.request_stop();
  }

  /// On the listener's thread.
  [[nodiscard]] std::vector<admin::relay_numbers> numbers_of_all() const {
    std::vector<admin::relay_numbers> out;
    for (std::size_t i = 0; i < counters_.size(); ++i) {
      const auto& counters = counters_[i];
      auto& one = out.emplace_back();
      one.relay = settings_.relays[i].name;
      one.published = counters.published;
      one.failed = counters.failed;
      one.dead = counters.dead;
      one.given_back = counters.given_back;
      one.waiting = counters.waiting;
      one.dead_rows = counters.dead_rows;
      one.oldest_age = static_cast<double>(counters.oldest_age) / 1'000;
      one.outbox_up = counters.outbox_up;
      one.destination_up = counters.destination_up;
    }
    return out;
  }

  void report(std::size_t index) const {
    const auto& counters = counters_[index];
    base::log(base::event::relay_ended, {{"relay", std::string_view(settings_.relays[index].name)},
                                         {"published", counters.published.load()},
                                         {"failed", counters.failed.load()},
                                         {"dead", counters.dead.load()}});
  }

  const config::settings& settings_;
  std::stop_source stop_;
  std::vector<relay::relay_counters> counters_;
  std::atomic<int> exit_code_{exit_ok};
};

int run_relays(const given_flags& given) {
  const auto read = load_config(given, false);
  if (!read) return exit_configuration;
  const auto& settings = read->values;
  if (settings.relays.empty()) {
    std::cerr << "onceguard: the configuration has no [[relay]]: which outbox, and to whom?\n";
    return exit_configuration;
  }
  const auto has_work = [](const config::settings& now) { return !now.relays.empty(); };
  const auto round = [](const config::settings& now, const std::stop_source& end) {
    return relays(now, end).run();
  };
  return run_until_stopped(given, *read, has_work, [&](rounds& all, const std::stop_source& stop) {
    return all.run(round, stop.get_token());
  });
}

}  // namespace

void add_relay_command(const command& added) {
  const auto given =
      add_store_flags(added, {"log-level", "log-format", "log-file", "admin", "admin-token-file"});
  added.runs([=] { return run_relays(*given); });
}

}  // namespace onceguard::cli
