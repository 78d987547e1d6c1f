#include "admin/overview.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include "admin/health.hpp"
#include "admin/responses.hpp"
#include "base/clock.hpp"
#include "base/number_in.hpp"
#include "text/json_text.hpp"

namespace onceguard::admin {

using nlohmann::ordered_json;

namespace {

constexpr std::string_view step_names[]{"request", "claim", "upstream", "settle"};
static_assert(std::size(step_names) == request_steps);

std::string_view name_of(phase now) noexcept {
  switch (now) {
    case phase::starting:
      return "starting";
    case phase::serving:
      return "serving";
    case phase::draining:
      return "draining";
  }
  return "";
}

/// The names and numbers of those outcomes that there were.
ordered_json outcomes_of(const request_totals& totals) {
  auto out = ordered_json::object();
  for (std::size_t i = 0; i < totals.outcomes.size(); ++i) {
    if (totals.outcomes[i] == 0) continue;
    out[std::string(http::name_of(static_cast<http::request_outcome>(i)))] = totals.outcomes[i];
  }
  return out;
}

/// For each step that was taken: the median, and what one in a hundred exceeded.
ordered_json times_of(const request_totals& totals) {
  auto out = ordered_json::object();
  for (std::size_t i = 0; i < request_steps; ++i) {
    const auto median = quantile_us(totals.times[i], 0.5);
    if (median == 0) continue;
    out[std::string(step_names[i])] = {std::lround(median),
                                       std::lround(quantile_us(totals.times[i], 0.99))};
  }
  return out;
}

ordered_json refusals_json(const std::vector<refusal_count>& refusals) {
  auto out = ordered_json::array();
  for (const auto& one : refusals) {
    out.push_back({{"problem", http::info_of(one.why).type},
                   {"status", http::info_of(one.why).status},
                   {"count", one.count},
                   {"began_at", time_text(one.began_wall)},
                   {"last_at", time_text(one.last_wall)}});
  }
  return out;
}

ordered_json process_of(const metric_sources& sources) {
  const auto program = sources.process.gauges();
  const auto engine = sources.engine.gauges();
  ordered_json out;
  out["connections"] = program.connections;
  out["connections_max"] = program.connections_max;
  out["connections_refused"] = program.connections_refused;
  out["buffered_bytes"] = program.buffered_bytes;
  out["buffered_bytes_max"] = program.buffered_bytes_max;
  out["leases"] = engine.leases;
  out["waiters"] = engine.waiters;
  out["pending"] = sources.engine.pending();
  out["reload_refused"] = program.reload_refused;
  return out;
}

ordered_json overview_of(const metric_sources& sources, const traffic_history& history,
                         std::uint64_t after, bool longer) {
  const auto store = sources.engine.health();
  ordered_json out;
  out["at"] = time_text(base::system_clock().wall_ms());
  out["version"] = sources.build.version;
  out["phase"] = name_of(sources.process.phase_now());
  out["unready"] = reasons_json(unready_reasons(sources.engine, sources.process));
  out["store"] = {{"name", sources.build.store}, {"up", store.up}, {"forgot", store.flagged}};
  out["process"] = process_of(sources);
  out["records"] = counted_json(sources.records);
  out["totals"] = outcomes_of(sources.requests.totals());
  out["routes"] = ordered_json::array();
  auto refusals = sources.requests.refusals_by_route();
  for (const auto& [route, totals] : sources.requests.totals_by_route()) {
    out["routes"].push_back({{"route", route},
                             {"outcomes", outcomes_of(totals)},
                             {"times_us", times_of(totals)},
                             {"refusals", refusals_json(refusals[route])}});
  }
  out["begun_at"] = time_text(history.begun_at_wall());
  out["interval_ms"] = std::chrono::milliseconds(traffic_history::interval).count();
  out["longer_history"] = longer;
  out["history"] = ordered_json::array();
  for (const auto& sample : history.later_than(after)) {
    out["history"].push_back({{"number", sample.number},
                              {"at", time_text(sample.at_wall)},
                              {"outcomes", outcomes_of(sample.added)},
                              {"times_us", times_of(sample.added)}});
  }
  return out;
}

}  // namespace

ordered_json counted_json(const record_counter& counter) {
  auto out = ordered_json::object();
  if (const auto oldest = counter.oldest_unknown_wall(); oldest && *oldest != 0) {
    out["oldest_unknown_at"] = time_text(*oldest);
  }
  const auto latest = counter.latest();
  if (!latest) return out;
  out["counted_at"] = time_text(latest->counted_at_wall);
  for (std::size_t i = 1; i <= observed_states; ++i) {
    out["by_state"][std::string(onceguard::name_of(static_cast<observed_state>(i)))] =
        latest->found.by_state[i];
  }
  out["by_state"]["unreadable"] = latest->found.unreadable;
  return out;
}

resources overview_resources(const metric_sources& sources, const traffic_history& history,
                             bool longer) {
  resources out;
  out.push_back(
      {"GET", "/api/overview", access::view,
       [sources, &history, longer](const request& wanted) -> boost::asio::awaitable<response> {
         const auto text = wanted.parameter("after");
         const auto after =
             base::number_in<std::uint64_t>(text.empty() ? "0" : text, 0, UINT64_MAX);
         if (!after) co_return refusal(400, "after: the number of a sample was expected");
         co_return json_response(overview_of(sources, history, *after, longer));
       }});
  return out;
}

}  // namespace onceguard::admin
