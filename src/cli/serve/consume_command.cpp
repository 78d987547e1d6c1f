#include <iostream>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include <onceguard/guard.hpp>

#include "admin/server.hpp"
#include "admin/subscriber_metrics.hpp"
#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/flags/given_flags.hpp"
#include "cli/serve/until_stopped.hpp"
#include "config/stores.hpp"
#include "consume/consume.hpp"

namespace onceguard::cli {
namespace {

constexpr milliseconds store_retry{1'000};

/// Opens the store, again and again until it opens or a stop is requested. Nullopt: the latter.
result<std::optional<guard>> open_guard(const config::settings& settings,
                                        const std::stop_token& stop) {
  guard_params params;
  params.store_timeout = settings.store.timeout;
  params.engine.state_dir = settings.gateway.state_dir;
  std::mutex mutex;
  std::unique_lock locked(mutex);
  std::condition_variable_any never;
  while (!stop.stop_requested()) {
    auto store = config::open_store(settings);
    if (!store) return store.error();
    auto opened = guard::open(std::unique_ptr<onceguard::store>(std::move(*store)), params);
    if (opened) return std::optional(std::move(*opened));
    if (!opened.error().retryable()) return opened.error();
    base::log(base::event::store_not_opened,
              {{"store", settings.store.url.substr(0, settings.store.url.find(':'))},
               {"why", opened.error().detail}});
    never.wait_for(locked, stop, store_retry, [] { return false; });
  }
  return std::optional<guard>();
}

/// All subscribers of the configuration, until one fails or a stop is requested.
class consumers {
 public:
  consumers(const config::settings& settings, guard& records, std::stop_source stop)
      : settings_(settings),
        records_(records),
        stop_(std::move(stop)),
        counters_(settings.consumers.size()) {}

  /// Blocks. Returns the exit code.
  int run() {
    admin::server listener(settings_.admin);
    if (settings_.admin.enabled) {
      listener.add(
          admin::subscriber_resources(records_.engine(), [this] { return numbers_of_all(); }));
      if (const int code = start_listener(listener); code != exit_ok) return code;
    }
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < settings_.consumers.size(); ++i) {
      const auto& each = settings_.consumers[i];
      auto& counters = counters_[i];
      base::log(base::event::consuming, {{"subscriber", std::string_view(each.subscriber)},
                                         {"store", records_.records().traits().name}});
      threads.emplace_back([this, &each, &counters] { consume_from(each, counters); });
    }
    threads.clear();
    for (std::size_t i = 0; i < counters_.size(); ++i) report(i);
    return exit_code_;
  }

 private:
  void consume_from(const consume::consume_params& params, consume::consume_counters& counters) {
    const auto done = consume::run(params, records_, counters, stop_.get_token());
    if (done) return;
    exit_code_ = start_failed("[[consume]] " + params.subscriber, done.error());
    stop_.request_stop();
  }

  /// On the listener's thread.
  [[nodiscard]] std::vector<admin::subscriber_numbers> numbers_of_all() const {
    std::vector<admin::subscriber_numbers> out;
    for (std::size_t i = 0; i < counters_.size(); ++i) {
      const auto& counters = counters_[i];
      auto& one = out.emplace_back();
      one.subscriber = settings_.consumers[i].subscriber;
      one.received = counters.received;
      for (std::size_t kind = 0; kind < inbox_results; ++kind) {
        one.outcomes.emplace_back(name_of(static_cast<inbox_result>(kind)),
                                  counters.settled[kind].load());
      }
      one.dead_lettered = counters.dead_lettered;
      one.not_settled = counters.not_settled;
      one.last_deliveries = counters.last_deliveries;
      one.dropped = counters.dropped;
      one.backlog = counters.backlog;
      one.connected = counters.connected;
      one.circuit_open = counters.circuit_open;
    }
    return out;
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
  std::stop_source stop_;
  std::vector<consume::consume_counters> counters_;
  std::atomic<int> exit_code_{exit_ok};
};

int consume_until(const config::settings& settings, rounds& all, const std::stop_source& stop) {
  auto records = open_guard(settings, stop.get_token());
  if (!records) {
    base::log(base::event::start_failed, {{"why", records.error().detail}});
    return records.error().code == errc::invalid_argument ? exit_configuration : exit_store;
  }
  if (!records->has_value()) return exit_ok;
  auto& kept = **records;
  const auto round = [&](const config::settings& now, const std::stop_source& end) {
    return consumers(now, kept, end).run();
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
  const auto has_work = [](const config::settings& now) { return !now.consumers.empty(); };
  return run_until_stopped(given, *read, has_work, [&](rounds& all, const std::stop_source& stop) {
    return consume_until(settings, all, stop);
  });
}

}  // namespace

void add_consume_command(const command& added) {
  const auto given =
      add_store_flags(added, {"log-level", "log-format", "log-file", "admin", "admin-token-file"});
  added.runs([=] { return run_consumers(*given); });
}

}  // namespace onceguard::cli
