#include "admin/request_metrics.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include "admin/metric_families.hpp"
#include "admin/recent_activity.hpp"
#include "base/clock.hpp"

namespace onceguard::admin {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr std::string_view more_routes = "(more)";

std::size_t thread_number() noexcept {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t number = next.fetch_add(1, relaxed);
  return number;
}

void add_times(prometheus::MetricFamily& family, const std::string& route,
               const time_counts& counts, std::uint64_t sum_us) {
  prometheus::ClientMetric out;
  out.label.push_back({"route", route});
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sum += counts[i];
    const double bound = i < time_bounds_us.size() ? static_cast<double>(time_bounds_us[i]) / 1e6
                                                   : std::numeric_limits<double>::infinity();
    out.histogram.bucket.push_back({sum, bound});
  }
  out.histogram.sample_count = sum;
  out.histogram.sample_sum = static_cast<double>(sum_us) / 1e6;
  family.metric.push_back(std::move(out));
}

}  // namespace

void request_metrics::histogram::add(std::chrono::microseconds time) noexcept {
  const auto bound = std::ranges::lower_bound(time_bounds_us, time.count());
  buckets[static_cast<std::size_t>(bound - time_bounds_us.begin())].fetch_add(1, relaxed);
  sum_us.fetch_add(static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0)), relaxed);
}

request_metrics::route& request_metrics::find_name(std::string_view name) {
  auto found = routes_.find(name);
  if (found == routes_.end()) {
    const std::string key(routes_.size() < routes_max ? name : more_routes);
    found = routes_.try_emplace(key, nullptr).first;
    if (!found->second) found->second = std::make_unique<route>(key);
  }
  return *found->second;
}

void request_metrics::expect(const std::vector<std::string>& names) {
  const std::lock_guard lock(mutex_);
  for (const auto& name : names) static_cast<void>(find_name(name));
}

request_metrics::route& request_metrics::find_route(const http::request_report& report) {
  auto& last = by_index_[report.route_index % by_index_.size()];
  const auto name = report.route.empty() ? no_route : report.route;
  // A reload may have put another route there.
  if (auto* known = last.load(std::memory_order_acquire); known != nullptr && known->name == name) {
    return *known;
  }
  const std::lock_guard lock(mutex_);
  auto& found = find_name(name);
  last.store(&found, std::memory_order_release);
  return found;
}

void request_metrics::add_refusal(route& refusing, const http::request_report& report) noexcept {
  // What ran, or was passed on, may have got an answer of our own, too: no upstream answered.
  if (report.outcome == http::request_outcome::ran ||
      report.outcome == http::request_outcome::unguarded ||
      report.outcome == http::request_outcome::observed) {
    return;
  }
  for (std::size_t i = 0; i < problems; ++i) {
    if (http::info_of(static_cast<http::problem>(i)).type != report.problem) continue;
    auto& refused = refusing.refused[i];
    const auto now = base::system_clock().wall_ms();
    const auto before = refused.last_wall.exchange(now, relaxed);
    if (now - before > std::chrono::milliseconds(quiet).count()) {
      refused.began_wall.store(now, relaxed);
    }
    refused.count.fetch_add(1, std::memory_order_release);  // who sees it sees since when
    return;
  }
}

std::vector<refusal_count> request_metrics::refusals_of(const route& one) {
  std::vector<refusal_count> out;
  for (std::size_t i = 0; i < problems; ++i) {
    const auto count = one.refused[i].count.load(std::memory_order_acquire);
    if (count == 0) continue;
    const auto& refused = one.refused[i];
    out.push_back({static_cast<http::problem>(i), count, refused.began_wall.load(relaxed),
                   refused.last_wall.load(relaxed)});
  }
  return out;
}

void request_metrics::finished(const http::request_report& report) noexcept {
  try {
    auto& of_route = find_route(report);
    if (!report.problem.empty()) add_refusal(of_route, report);
    auto& counts = of_route.shares[thread_number() % threads];
    counts.outcomes[static_cast<std::size_t>(report.outcome)].fetch_add(1, relaxed);
    if (report.outcome == http::request_outcome::unguarded) {
      counts.unguarded[static_cast<std::size_t>(report.why_unguarded)].fetch_add(1, relaxed);
    }
    counts.of(request_step::whole).add(report.total);
    const auto add = [&counts](request_step step, std::chrono::microseconds time) {
      if (time.count() != 0) counts.of(step).add(time);
    };
    add(request_step::claim, report.claim);
    add(request_step::upstream, report.upstream_time);
    add(request_step::settle, report.settle);
  } catch (const std::bad_alloc&) {
    // A first request of a route without memory for its counters is not counted.
    return;
  }
}

std::vector<const request_metrics::route*> request_metrics::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<const route*> out;
  for (const auto& [name, one] : routes_) out.push_back(one.get());
  return out;
}

void request_metrics::add_to(request_totals& sum, const route& of_route) noexcept {
  for (const auto& one : of_route.shares) {
    for (std::size_t i = 0; i < sum.outcomes.size(); ++i) {
      sum.outcomes[i] += one.outcomes[i].load(relaxed);
    }
    for (std::size_t step = 0; step < request_steps; ++step) {
      for (std::size_t i = 0; i < sum.times[step].size(); ++i) {
        sum.times[step][i] += one.times[step].buckets[i].load(relaxed);
      }
    }
  }
}

request_totals request_metrics::totals() const {
  request_totals out;
  for (const auto* one : all()) add_to(out, *one);
  return out;
}

std::vector<std::pair<std::string, request_totals>> request_metrics::totals_by_route() const {
  std::vector<std::pair<std::string, request_totals>> out;
  for (const auto* one : all()) add_to(out.emplace_back(one->name, request_totals{}).second, *one);
  return out;
}

std::map<std::string, std::vector<refusal_count>> request_metrics::refusals_by_route() const {
  std::map<std::string, std::vector<refusal_count>> out;
  for (const auto* one : all()) out.emplace(one->name, refusals_of(*one));
  return out;
}

std::vector<prometheus::MetricFamily> request_metrics::Collect() const {
  auto requests = counter_family("onceguard_requests_total", "Requests, by what they got.");
  auto unguarded = counter_family("onceguard_unguarded_total",
                                  "Requests that were passed on without a record, by the reason.");
  auto refused = counter_family("onceguard_refusals_total",
                                "Requests that were refused, by the type of the problem.");
  std::array<prometheus::MetricFamily, request_steps> times{
      histogram_family("onceguard_request_seconds", "From a request's head to its answer's end."),
      histogram_family("onceguard_claim_seconds", "Claims, with the store's commit."),
      histogram_family("onceguard_upstream_seconds", "Calls of the upstream."),
      histogram_family("onceguard_settle_seconds", "Settles, with the store's commit."),
  };
  for (const auto* one : all()) {
    request_totals sum;
    add_to(sum, *one);
    for (std::size_t i = 0; i < http::request_outcomes; ++i) {
      const auto outcome = name_of(static_cast<http::request_outcome>(i));
      add_value(requests, static_cast<double>(sum.outcomes[i]),
                {{"route", one->name}, {"outcome", outcome}});
    }
    for (std::size_t i = 1; i < http::unguarded_reasons; ++i) {
      const auto reason = name_of(static_cast<http::unguarded_reason>(i));
      std::uint64_t count = 0;
      for (const auto& counts : one->shares) count += counts.unguarded[i].load(relaxed);
      add_value(unguarded, static_cast<double>(count), {{"route", one->name}, {"reason", reason}});
    }
    for (const auto& refusal : refusals_of(*one)) {
      add_value(refused, static_cast<double>(refusal.count),
                {{"route", one->name}, {"problem", http::info_of(refusal.why).type}});
    }
    for (std::size_t i = 0; i < request_steps; ++i) {
      std::uint64_t sum_us = 0;
      for (const auto& counts : one->shares) sum_us += counts.times[i].sum_us.load(relaxed);
      add_times(times[i], one->name, sum.times[i], sum_us);
    }
  }
  std::vector<prometheus::MetricFamily> out{std::move(requests), std::move(unguarded)};
  if (!refused.metric.empty()) out.push_back(std::move(refused));
  std::move(times.begin(), times.end(), std::back_inserter(out));
  return out;
}

}  // namespace onceguard::admin
