#include "admin/metrics.hpp"

#include <prometheus/text_serializer.h>

#include "admin/health.hpp"
#include "admin/metric_families.hpp"
#include "admin/observation_metrics.hpp"
#include "admin/process_metrics.hpp"
#include "base/clock.hpp"
#include "base/watched_files.hpp"

namespace onceguard::admin {

namespace {

using prometheus::MetricFamily;
using families = std::vector<MetricFamily>;

void add_number(families& out, MetricFamily family, double value) {
  add_value(family, value);
  out.push_back(std::move(family));
}

template <class Number>
void add_gauge(families& out, std::string_view name, std::string_view meaning, Number value) {
  add_number(out, gauge_family(std::string(name), std::string(meaning)),
             static_cast<double>(value));
}

void add_engine(families& out, onceguard::engine& engine) {
  for (const auto* counter : engine.counters().all) {
    add_number(out, counter_family(std::string(counter->name), std::string(counter->meaning)),
               static_cast<double>(counter->load(std::memory_order_relaxed)));
  }
  auto unknown = counter_family("onceguard_became_unknown_total",
                                "Records that became unknown, by reason. Of holder_gone, each "
                                "process counts those that it meets, once since its start.");
  for (std::size_t i = 1; i < unknown_reasons; ++i) {
    const auto& count = engine.counters().became_unknown[i];
    add_value(unknown, static_cast<double>(count.load(std::memory_order_relaxed)),
              {{"reason", name_of(static_cast<unknown_reason>(i))}});
  }
  out.push_back(std::move(unknown));
  const auto now = engine.gauges();
  add_gauge(out, "onceguard_leases_held", "Leases that this process holds.", now.leases);
  add_gauge(out, "onceguard_waiters", "Requests that wait for their twin.", now.waiters);
  add_gauge(out, "onceguard_follow_ups_pending", "Settles and claims that are repeated.",
            engine.pending());
  add_gauge(out, "onceguard_replay_cache_answers", "Answers in memory.", now.cached_answers);
  add_gauge(out, "onceguard_replay_cache_bytes", "Memory of these answers.", now.cached_bytes);
  const auto store = engine.health();
  add_gauge(out, "onceguard_store_up", "Whether the store answers, and takes writes.",
            store.up ? 1 : 0);
  add_gauge(out, "onceguard_store_forgot",
            "Whether the store lost its memory so lately that new runs may repeat earlier ones.",
            store.flagged ? 1 : 0);
  for (const auto& one : engine.records().numbers()) {
    auto family = one.counter ? counter_family(std::string(one.name), std::string(one.meaning))
                              : gauge_family(std::string(one.name), std::string(one.meaning));
    add_number(out, std::move(family), one.value);
  }
}

/// What was changed by somebody, and is not in force as it should be.
void add_files(families& out, const program_gauges& now) {
  add_gauge(out, "onceguard_reload_refused",
            "Whether the last reload was refused, and an older configuration is in force.",
            now.reload_refused ? 1 : 0);
  add_number(out, counter_family("onceguard_reloads_refused_total", "Reloads that were refused."),
             static_cast<double>(now.reloads_refused));
  auto refused = gauge_family("onceguard_file_refused",
                              "Whether what the file of keys or certificates holds now was "
                              "refused, and what it held before is in force.");
  for (const auto& [path, wrong] : base::refused_files()) {
    add_value(refused, wrong ? 1 : 0, {{"path", path}});
  }
  if (!refused.metric.empty()) out.push_back(std::move(refused));
  auto ends = gauge_family("onceguard_certificate_end_timestamp_seconds",
                           "When the first certificate of the file ends.");
  for (const auto& [path, end] : now.certificates) {
    add_value(ends, static_cast<double>(end), {{"path", path}});
  }
  if (!ends.metric.empty()) out.push_back(std::move(ends));
}

void add_program(families& out, const metric_sources& sources) {
  const auto now = sources.process.gauges();
  add_files(out, now);
  const bool ready = unready_reasons(sources.engine, sources.process).empty();
  add_gauge(out, "onceguard_ready", "Whether /readyz says 200.", ready ? 1 : 0);
  add_gauge(out, "onceguard_connections", "Client connections.", now.connections);
  add_gauge(out, "onceguard_connections_limit", "As many as max_connections allows.",
            now.connections_max);
  add_number(out,
             counter_family("onceguard_connections_refused_total",
                            "Client connections that got 503, as max_connections were open."),
             static_cast<double>(now.connections_refused));
  add_gauge(out, "onceguard_buffered_bytes", "Bodies, answers and settles in memory.",
            now.buffered_bytes);
  add_gauge(out, "onceguard_buffered_limit_bytes", "As much as max_buffered allows.",
            now.buffered_bytes_max);
  add_number(out, counter_family("onceguard_log_lines_dropped_total", "Lines that nobody read."),
             static_cast<double>(now.log_lines_dropped));
  add_number(out,
             counter_family("onceguard_log_lines_left_out_total",
                            "Lines of recurring events that their rate limit left out."),
             static_cast<double>(now.log_lines_left_out));
  add_number(out,
             counter_family("onceguard_spans_dropped_total",
                            "Requests whose spans did not reach the collector."),
             static_cast<double>(now.spans_dropped));
  auto sandbox = gauge_family("onceguard_sandbox", std::string(meaning_of_sandbox));
  add_value(sandbox, now.files_limited ? 1 : 0, {{"part", "files"}});
  add_value(sandbox, now.calls_limited ? 1 : 0, {{"part", "calls"}});
  out.push_back(std::move(sandbox));
  auto build = gauge_family("onceguard_build_info", "What runs; always 1.");
  add_value(build, 1,
            {{"version", sources.build.version},
             {"sqlite", sources.build.sqlite},
             {"store", sources.build.store}});
  out.push_back(std::move(build));
}

void add_records(families& out, const record_counter& counter) {
  if (!counter.counts()) return;
  if (const auto oldest = counter.oldest_unknown_wall()) {
    const auto age = *oldest == 0 ? 0 : base::system_clock().wall_ms() - *oldest;
    add_gauge(out, "onceguard_oldest_unknown_seconds",
              "Since the first claim of the oldest unknown record; 0: none is unknown.",
              static_cast<double>(age) / 1e3);
  }
  // Without a count, it is as old as the counter: what is never counted has to be noticed, too.
  add_gauge(out, "onceguard_records_counted_timestamp_seconds",
            "When they were counted last; before the first count, when counting began.",
            static_cast<double>(counter.counted_at_wall()) / 1e3);
  const auto latest = counter.latest();
  if (!latest) return;
  auto records = gauge_family("onceguard_records", "Records in the store, as counted last.");
  for (std::size_t i = 1; i <= observed_states; ++i) {
    add_value(records, static_cast<double>(latest->found.by_state[i]),
              {{"state", name_of(static_cast<observed_state>(i))}});
  }
  add_value(records, static_cast<double>(latest->found.unreadable), {{"state", "unreadable"}});
  out.push_back(std::move(records));
}

std::string metrics_text(const metric_sources& sources) {
  auto out = sources.requests.Collect();
  add_engine(out, sources.engine);
  add_records(out, sources.records);
  add_program(out, sources);
  for (auto& family : observed_families(sources.observed)) out.push_back(std::move(family));
  for (auto& family : process_families()) out.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(out);
}

}  // namespace

resources metric_resources(const metric_sources& sources) {
  resources out;
  out.push_back({"GET", "/metrics", access::view,
                 [sources](const request&) -> boost::asio::awaitable<response> {
                   co_return response{.body = metrics_text(sources),
                                      .type = "text/plain; version=0.0.4; charset=utf-8"};
                 }});
  return out;
}

}  // namespace onceguard::admin
