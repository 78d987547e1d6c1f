#include "admin/observation_metrics.hpp"

#include "admin/metric_families.hpp"

namespace onceguard::admin {

std::vector<prometheus::MetricFamily> observed_families(const observing::observation& observed) {
  auto requests =
      counter_family("onceguard_observed_total", "Observed requests, by what they would have got.");
  auto repeats = counter_family("onceguard_observed_repeats_total",
                                "Observed requests whose key came before with their fingerprint.");
  auto strangers =
      counter_family("onceguard_observed_other_scopes_total",
                     "Observed requests with the key and fingerprint of another scope's.");
  auto contents = counter_family(
      "onceguard_observed_contents_repeated_total",
      "Observed requests whose content came before, with no key or with another one.");
  auto twice = counter_family("onceguard_observed_run_again_total",
                              "Of both: the first one and the repeat got an answer of success.");
  auto blind = counter_family("onceguard_observed_not_compared_total",
                              "Observed requests whose body was not read wholly.");
  const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
  for (const auto& [route, seen] : observed.counts()) {
    for (std::size_t i = 0; i < seen.would_be.size(); ++i) {
      const auto outcome = name_of(static_cast<http::request_outcome>(i));
      add_value(requests, number(seen.would_be[i]), {{"route", route}, {"would_be", outcome}});
    }
    add_value(repeats, number(seen.repeats), {{"route", route}});
    add_value(strangers, number(seen.other_scopes), {{"route", route}});
    add_value(contents, number(seen.contents_without_key), {{"route", route}, {"key", "none"}});
    add_value(contents, number(seen.contents_with_another_key),
              {{"route", route}, {"key", "another"}});
    add_value(twice, number(seen.repeats_run_again + seen.contents_run_again), {{"route", route}});
    add_value(blind, number(seen.not_compared), {{"route", route}});
  }
  return {std::move(requests), std::move(repeats), std::move(strangers),
          std::move(contents), std::move(twice),   std::move(blind)};
}

}  // namespace onceguard::admin
