#include <iostream>
#include <stop_token>
#include <vector>

#include "admin/worker_resources.hpp"
#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/services/dead_row_resources.hpp"
#include "cli/services/running_workers.hpp"
#include "cli/services/shut_in.hpp"
#include "relay/relay.hpp"

namespace onceguard::cli::services {
namespace {

/// All relays of the configuration, until one can't begin or a stop is requested.
class relays {
 public:
  relays(const config::settings& settings, worker_acts& acts, std::stop_source stop)
      : settings_(settings),
        acts_(acts),
        stop_(std::move(stop)),
        counters_(settings.relays.size()) {}

  /// Blocks. Returns the exit code.
  int run() {
    worker_crew crew{{}, [this] { return state(); }, acts_};
    dead_row_service rows(settings_);
    crew.more = [&rows](const admin::audit_source& audit) { return rows.make_resources(audit); };
    crew.close = [&rows] { rows.close(); };
    for (const auto& one : settings_.relays) crew.names.push_back(one.name);
    return run_workers(settings_, stop_, crew, [this](std::size_t which, std::stop_token stop) {
      return relay_from(which, std::move(stop));
    });
  }

 private:
  int relay_from(std::size_t which, std::stop_token stop) {
    const auto& params = settings_.relays[which];
    base::log(base::event::relaying, {{"relay", std::string_view(params.name)}});
    const auto done = relay::run(params, counters_[which], std::move(stop));
    const int code = done ? exit_ok : start_failed("[[relay]] " + params.name, done.error());
    report(which);
    return code;
  }

  /// On the listener's thread. Ready is who has all of its outboxes and destinations.
  [[nodiscard]] admin::worker_state state() const {
    admin::worker_state out;
    for (std::size_t i = 0; i < counters_.size(); ++i) {
      add_state(counters_[i], {"relay", settings_.relays[i].name}, out);
    }
    add_limits(out);
    return out;
  }

  static void add_state(const relay::relay_counters& now, const admin::name_and_text& name,
                        admin::worker_state& out) {
    if (!now.outbox_up) out.reasons.push_back({{"reason", "outbox-away"}, name});
    if (!now.destination_up) out.reasons.push_back({{"reason", "destination-away"}, name});
    out.add("onceguard_relay_published_total", "Messages that their destination confirmed.",
            now.published, {name});
    out.add("onceguard_relay_failed_total", "Refusals after which a message is sent again.",
            now.failed, {name});
    out.add("onceguard_relay_dead_total",
            "Messages that were refused too often, and are not sent any more.", now.dead, {name});
    out.add("onceguard_relay_given_back_total",
            "Batches that found their destination out of reach.", now.given_back, {name});
    out.add("onceguard_outbox_waiting", "Rows that wait for a relay.", now.waiting, {name});
    out.add("onceguard_outbox_dead", "Dead rows in the table.", now.dead_rows, {name});
    out.add("onceguard_outbox_oldest_age_seconds", "The age of the oldest row that is not dead.",
            static_cast<double>(now.oldest_age) / 1'000, {name});
    out.add("onceguard_outbox_up", "Whether the outbox is connected.", now.outbox_up, {name});
    out.add("onceguard_destination_up", "Whether the destination took the last batch.",
            now.destination_up, {name});
  }

  void report(std::size_t index) const {
    const auto& counters = counters_[index];
    base::log(base::event::relay_ended, {{"relay", std::string_view(settings_.relays[index].name)},
                                         {"published", counters.published.load()},
                                         {"failed", counters.failed.load()},
                                         {"dead", counters.dead.load()}});
  }

  const config::settings& settings_;
  worker_acts& acts_;
  std::stop_source stop_;
  std::vector<relay::relay_counters> counters_;
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
  worker_acts acts(settings);
  const auto round = [&acts](const config::settings& now, const std::stop_source& end) {
    return relays(now, acts, end).run();
  };
  return run_until_stopped(
      given, *read, {}, has_work,
      [&](rounds& all, const std::stop_source& stop) { return all.run(round, stop.get_token()); });
}

}  // namespace

void add_relay_command(const command& added) {
  const auto given = add_store_flags(
      added, {"log-level", "log-format", "log-file", "admin", "admin-token-file", "sandbox"});
  added.runs([=] { return run_relays(*given); });
}

}  // namespace onceguard::cli::services
