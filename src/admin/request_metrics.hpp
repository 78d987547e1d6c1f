// Counters and histograms of requests, by route. The request path adds to atomics of its thread;
// everything else happens when the metrics are read.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "http/problem.hpp"
#include "http/request_report.hpp"

namespace onceguard::admin {

/// The upper bounds of the buckets into which times are counted; one more bucket has the rest.
inline constexpr std::array<std::int64_t, 16> time_bounds_us{
    500,     1'000,   2'500,     5'000,     10'000,    25'000,     50'000,     100'000,
    250'000, 500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000, 30'000'000, 60'000'000};
using time_counts = std::array<std::uint64_t, time_bounds_us.size() + 1>;

/// The steps of a request whose times are counted.
enum class request_step : std::uint8_t { whole, claim, upstream, settle };
inline constexpr std::size_t request_steps = 4;

/// What all requests since the start got, over all routes.
struct request_totals {
  std::array<std::uint64_t, http::request_outcomes> outcomes{};
  std::array<time_counts, request_steps> times{};
};

/// Why requests of a route were refused.
struct refusal_count {
  http::problem why = http::problem::bad_request;
  std::uint64_t count = 0;
  std::int64_t began_wall = 0;  ///< in milliseconds since 1970: the first after a quiet time
  std::int64_t last_wall = 0;
};

/// Thread-safe. prometheus-cpp's histogram takes a lock for each observation, which all I/O threads
/// would share; these don't.
class request_metrics final : public http::request_observer, public prometheus::Collectable {
 public:
  /// Routes beyond that many, after many reloads, count together as "(more)".
  static constexpr std::size_t routes_max = 1'000;
  /// A refusal after so long without one begins anew.
  static constexpr std::chrono::minutes quiet{10};

  /// From now on these routes have their series, at 0 until their first request: an increase from
  /// nothing to 1 is none for Prometheus.
  void expect(const std::vector<std::string>& names);
  void finished(const http::request_report& report) noexcept override;
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;
  [[nodiscard]] request_totals totals() const;
  /// The same by route.
  [[nodiscard]] std::vector<std::pair<std::string, request_totals>> totals_by_route() const;
  /// By route, those reasons that there were.
  [[nodiscard]] std::map<std::string, std::vector<refusal_count>> refusals_by_route() const;

 private:
  static constexpr std::size_t threads = 8;  // more threads share
  static constexpr auto problems = static_cast<std::size_t>(http::problem::quota_exceeded) + 1;
  using number = std::atomic<std::uint64_t>;

  struct histogram {
    std::array<number, std::tuple_size_v<time_counts>> buckets{};
    number sum_us{0};
    void add(std::chrono::microseconds time) noexcept;
  };
  /// What one thread, or a few, counted. On cache lines of its own.
  struct alignas(64) share {
    std::array<number, http::request_outcomes> outcomes{};
    std::array<number, http::unguarded_reasons> unguarded{};
    std::array<histogram, request_steps> times{};
    [[nodiscard]] histogram& of(request_step step) noexcept {
      return times[static_cast<std::size_t>(step)];
    }
  };
  struct refusals {
    number count{0};
    std::atomic<std::int64_t> began_wall{0};
    std::atomic<std::int64_t> last_wall{0};
  };
  struct route {
    explicit route(std::string Name) : name(std::move(Name)) {}
    const std::string name;
    std::array<share, threads> shares{};
    // Of all threads: a refusal is rare beside what runs.
    std::array<refusals, problems> refused{};
  };

  [[nodiscard]] route& find_name(std::string_view name);  // under the mutex
  [[nodiscard]] route& find_route(const http::request_report& report);
  [[nodiscard]] std::vector<const route*> all() const;
  static void add_refusal(route& refusing, const http::request_report& report) noexcept;
  [[nodiscard]] static std::vector<refusal_count> refusals_of(const route& one);
  static void add_to(request_totals& sum, const route& of_route) noexcept;

  std::array<std::atomic<route*>, 256> by_index_{};  // the route that was last seen there
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<route>, std::less<>> routes_;  // under the mutex
};

}  // namespace onceguard::admin
