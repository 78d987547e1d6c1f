#include "admin/request_metrics.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include "admin/families.hpp"

namespace onceguard::admin {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr std::string_view no_route = "(none)";
constexpr std::string_view more_routes = "(more)";

std::size_t thread_number() noexcept {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t number = next.fetch_add(1, relaxed);
  return number;
}

}  // namespace

void request_metrics::histogram::add(std::chrono::microseconds time) noexcept {
  const auto bound = std::lower_bound(bounds_us.begin(), bounds_us.end(), time.count());
  buckets[static_cast<std::size_t>(bound - bounds_us.begin())].fetch_add(1, relaxed);
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

void request_metrics::finished(const http::request_report& report) noexcept {
  try {
    auto& counts = find_route(report).shares[thread_number() % threads];
    counts.outcomes[static_cast<std::size_t>(report.outcome)].fetch_add(1, relaxed);
    if (report.outcome == http::request_outcome::unguarded) {
      counts.unguarded[static_cast<std::size_t>(report.why_unguarded)].fetch_add(1, relaxed);
    }
    counts.times[request].add(report.total);
    if (report.claim.count() != 0) counts.times[claim].add(report.claim);
    if (report.upstream_time.count() != 0) counts.times[upstream].add(report.upstream_time);
    if (report.settle.count() != 0) counts.times[settle].add(report.settle);
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

void request_metrics::add_times(prometheus::MetricFamily& family, const route& of_route,
                                step which) {
  std::array<std::uint64_t, bounds_us.size() + 1> counts{};
  std::uint64_t sum_us = 0;
  for (const auto& one : of_route.shares) {
    const auto& times = one.times[which];
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += times.buckets[i].load(relaxed);
    sum_us += times.sum_us.load(relaxed);
  }
  prometheus::ClientMetric out;
  out.label.push_back({"route", of_route.name});
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sum += counts[i];
    const double bound = i < bounds_us.size() ? static_cast<double>(bounds_us[i]) / 1e6
                                              : std::numeric_limits<double>::infinity();
    out.histogram.bucket.push_back({sum, bound});
  }
  out.histogram.sample_count = sum;
  out.histogram.sample_sum = static_cast<double>(sum_us) / 1e6;
  family.metric.push_back(std::move(out));
}

std::vector<prometheus::MetricFamily> request_metrics::Collect() const {
  auto requests = counter_family("onceguard_requests_total", "Requests, by what they got.");
  auto unguarded = counter_family("onceguard_unguarded_total",
                                  "Requests that were passed on without a record, by the reason.");
  std::array<prometheus::MetricFamily, steps> times{
      histogram_family("onceguard_request_seconds", "From a request's head to its answer's end."),
      histogram_family("onceguard_claim_seconds", "Claims, with the store's commit."),
      histogram_family("onceguard_upstream_seconds", "Calls of the upstream."),
      histogram_family("onceguard_settle_seconds", "Settles, with the store's commit."),
  };
  for (const auto* one : all()) {
    const auto sum = [&](const auto& member, std::size_t i) {
      std::uint64_t out = 0;
      for (const auto& counts : one->shares) out += (counts.*member)[i].load(relaxed);
      return static_cast<double>(out);
    };
    for (std::size_t i = 0; i < http::request_outcomes; ++i) {
      const auto outcome = name_of(static_cast<http::request_outcome>(i));
      add_value(requests, sum(&share::outcomes, i), {{"route", one->name}, {"outcome", outcome}});
    }
    for (std::size_t i = 1; i < http::unguarded_reasons; ++i) {
      const auto reason = name_of(static_cast<http::unguarded_reason>(i));
      add_value(unguarded, sum(&share::unguarded, i), {{"route", one->name}, {"reason", reason}});
    }
    for (std::size_t i = 0; i < steps; ++i) add_times(times[i], *one, static_cast<step>(i));
  }
  std::vector<prometheus::MetricFamily> out{std::move(requests), std::move(unguarded)};
  std::move(times.begin(), times.end(), std::back_inserter(out));
  return out;
}

}  // namespace onceguard::admin
