#include <algorithm>
#include <iostream>
#include <optional>
#include <stop_token>
#include <vector>

#include <onceguard/guard.hpp>

#include "admin/record_api.hpp"
#include "admin/resolve_api.hpp"
#include "admin/worker_resources.hpp"
#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/services/letter_resources.hpp"
#include "cli/services/opened_guard.hpp"
#include "cli/services/running_workers.hpp"
#include "cli/services/shut_in.hpp"
#include "consume/consume.hpp"

namespace onceguard::cli::services {
namespace {

guard_params params_of(const config::settings& settings) {
  guard_params out;
  out.store_timeout = settings.store.timeout;
  out.engine.state_dir = settings.gateway.state_dir;
  return out;
}

bool runs_command(const config::settings& settings) {
  return std::ranges::any_of(settings.consumers,
                             [](const auto& each) { return !each.command.empty(); });
}

/// All subscribers of the configuration, until one fails or a stop is requested.
class consumers {
 public:
  consumers(const config::settings& settings, guard& records, worker_acts& acts,
            kept_listings& listings, std::stop_source stop)
      : settings_(settings),
        records_(records),
        acts_(acts),
        listings_(listings),
        stop_(std::move(stop)),
        counters_(settings.consumers.size()) {}

  /// Blocks. Returns the exit code.
  int run() {
    worker_crew crew{{}, [this] { return state(); }, acts_};
    letter_service letters(settings_, records_, listings_);
    crew.page = "consumers";
    crew.more = [&](const admin::audit_source& audit) { return resources_of(letters, audit); };
    crew.close = [&letters] { letters.close(); };
    for (const auto& one : settings_.consumers) crew.names.push_back(one.subscriber);
    return run_workers(settings_, stop_, crew, [this](std::size_t which, std::stop_token stop) {
      return consume_from(which, std::move(stop));
    });
  }

 private:
  /// What there is to settle: dead letters, and records.
  admin::resources resources_of(letter_service& letters, const admin::audit_source& audit) {
    auto out = letters.make_resources(audit);
    auto& records = records_.records();
    const auto timeout = settings_.store.timeout;
    milliseconds retention{0};
    for (const auto& each : settings_.consumers) {
      retention = std::max(retention, each.inbox.retention);
    }
    admin::resolve_params acts;
    acts.timeout = timeout;
    acts.audit = audit;
    // A record does not say of which table it is: the longest keeps no answer too short.
    acts.retention = [retention](const std::string&) { return retention; };
    for (auto& more : {admin::record_resources(records, timeout, audit),
                       admin::resolve_resources(records, acts)}) {
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }

  int consume_from(std::size_t which, std::stop_token stop) {
    const auto& params = settings_.consumers[which];
    base::log(base::event::consuming, {{"subscriber", std::string_view(params.subscriber)},
                                       {"store", records_.records().traits().name}});
    const auto done = consume::run(params, records_, counters_[which], std::move(stop));
    const int code =
        done ? exit_ok : start_failed("[[consume]] " + params.subscriber, done.error());
    report(which);
    return code;
  }

  /// On the listener's thread. Ready is who has its store and all of its queues.
  [[nodiscard]] admin::worker_state state() const {
    admin::worker_state out;
    const auto store = records_.engine().health();
    if (!store.up) out.reasons.push_back({{"reason", "store-away"}, {"why", store.why}});
    for (std::size_t i = 0; i < counters_.size(); ++i) {
      add_state(counters_[i], {"subscriber", settings_.consumers[i].subscriber}, out);
    }
    add_limits(out);
    out.add("onceguard_store_up", "Whether the store answers, and takes writes.", store.up);
    return out;
  }

  static void add_state(const consume::consume_counters& now, const admin::name_and_text& name,
                        admin::worker_state& out) {
    if (!now.connected) out.reasons.push_back({{"reason", "broker-away"}, name});
    out.add("onceguard_messages_received_total", "Deliveries of messages.", now.received, {name});
    for (std::size_t i = 0; i < inbox_results; ++i) {
      const std::string outcome(name_of(static_cast<inbox_result>(i)));
      out.add("onceguard_messages_total", "What deliveries came to.", now.settled[i],
              {name, {"outcome", outcome}});
    }
    out.add("onceguard_messages_dead_lettered_total",
            "Messages that were stored among the dead letters.", now.dead_lettered, {name});
    out.add("onceguard_messages_not_settled_total",
            "Outcomes that the broker did not take: it delivers again.", now.not_settled, {name});
    out.add("onceguard_messages_last_delivery_total",
            "Deliveries that are the last one by the broker's own limit.", now.last_deliveries,
            {name});
    out.add("onceguard_messages_dropped_total",
            "Messages that the broker gave up by itself, as far as it tells.", now.dropped, {name});
    out.add("onceguard_messages_backlog", "Messages that wait at the broker.", now.backlog, {name});
    out.add("onceguard_broker_up", "Whether the queue is connected.", now.connected, {name});
    out.add("onceguard_circuit_open",
            "Whether no messages are taken, as the store or the endpoint is away.",
            now.circuit_open, {name});
  }

  void report(std::size_t index) const {
    const auto& counters = counters_[index];
    const auto count_of = [&](inbox_result kind) {
      return counters.settled[static_cast<std::size_t>(kind)].load();
    };
    base::log(base::event::consumed,
              {{"subscriber", std::string_view(settings_.consumers[index].subscriber)},
               {"received", counters.received.load()},
               {"handled", count_of(inbox_result::handled)},
               {"duplicates", count_of(inbox_result::duplicate)},
               {"failed", count_of(inbox_result::failed)},
               {"unknown", count_of(inbox_result::unknown)},
               {"dead_lettered", counters.dead_lettered.load()}});
  }

  const config::settings& settings_;
  guard& records_;
  worker_acts& acts_;
  kept_listings& listings_;
  std::stop_source stop_;
  std::vector<consume::consume_counters> counters_;
};

int consume_until(const config::settings& settings, rounds& all, const std::stop_source& stop) {
  auto records = open_guard(settings, params_of(settings), stop.get_token());
  if (!records) {
    base::log(base::event::start_failed, {{"why", records.error().detail}});
    return records.error().code == errc::invalid_argument ? exit_configuration : exit_store;
  }
  if (!records->has_value()) return exit_ok;
  auto& kept = **records;
  worker_acts acts(settings);
  kept_listings listings;
  const auto round = [&](const config::settings& now, const std::stop_source& end) {
    return consumers(now, kept, acts, listings, end).run();
  };
  return all.run(round, stop.get_token());
}

int run_consumers(const given_flags& given) {
  const auto read = load_config(given, false);
  if (!read) return exit_configuration;
  const auto& settings = read->values;
  if (settings.consumers.empty()) {
    std::cerr << "onceguard: the configuration has no [[consume]]: which queue, and to whom?\n";
    return exit_configuration;
  }
  const bool commands = runs_command(settings);
  const auto has_work = [commands](const config::settings& now) {
    if (now.consumers.empty()) return false;
    if (commands || !runs_command(now) || !is_shut_in()) return true;
    base::log(base::event::command_refused);
    return false;
  };
  const std::string_view needs = commands ? "a [[consume]] runs a command" : "";
  return run_until_stopped(given, *read, needs, has_work,
                           [&](rounds& all, const std::stop_source& stop) {
                             return consume_until(settings, all, stop);
                           });
}

}  // namespace

void add_consume_command(const command& added) {
  const auto given = add_store_flags(
      added, {"log-level", "log-format", "log-file", "admin", "admin-token-file", "sandbox"});
  added.runs([=] { return run_consumers(*given); });
}

}  // namespace onceguard::cli::services
