#include "admin/relay_metrics.hpp"

#include <prometheus/text_serializer.h>

#include <nlohmann/json.hpp>

#include "admin/families.hpp"
#include "admin/process_numbers.hpp"
#include "admin/worker_resources.hpp"

namespace onceguard::admin {
namespace {

std::string metrics_text(const std::vector<relay_numbers>& all) {
  auto published = counter_family("onceguard_relay_published_total",
                                  "Messages that their destination confirmed.");
  auto failed = counter_family("onceguard_relay_failed_total",
                               "Refusals after which a message is sent again.");
  auto dead = counter_family("onceguard_relay_dead_total",
                             "Messages that were refused too often, and are not sent any more.");
  auto given_back = counter_family("onceguard_relay_given_back_total",
                                   "Batches that found their destination out of reach.");
  auto waiting = gauge_family("onceguard_outbox_waiting", "Rows that wait for a relay.");
  auto dead_rows = gauge_family("onceguard_outbox_dead", "Dead rows in the table.");
  auto oldest = gauge_family("onceguard_outbox_oldest_age_seconds",
                             "The age of the oldest row that is not dead.");
  auto outbox_up = gauge_family("onceguard_outbox_up", "Whether the outbox is connected.");
  auto target_up =
      gauge_family("onceguard_destination_up", "Whether the destination took the last batch.");
  for (const auto& one : all) {
    const std::pair<std::string_view, std::string_view> name{"relay", one.relay};
    add_value(published, static_cast<double>(one.published), {name});
    add_value(failed, static_cast<double>(one.failed), {name});
    add_value(dead, static_cast<double>(one.dead), {name});
    add_value(given_back, static_cast<double>(one.given_back), {name});
    add_value(waiting, static_cast<double>(one.waiting), {name});
    add_value(dead_rows, static_cast<double>(one.dead_rows), {name});
    add_value(oldest, one.oldest_age, {name});
    add_value(outbox_up, one.outbox_up ? 1 : 0, {name});
    add_value(target_up, one.destination_up ? 1 : 0, {name});
  }
  auto families = process_families();
  for (auto* family : {&published, &failed, &dead, &given_back, &waiting, &dead_rows, &oldest,
                       &outbox_up, &target_up}) {
    families.push_back(std::move(*family));
  }
  return prometheus::TextSerializer().Serialize(families);
}

nlohmann::ordered_json reasons_of(const std::vector<relay_numbers>& all) {
  auto reasons = nlohmann::ordered_json::array();
  for (const auto& one : all) {
    if (!one.outbox_up) reasons.push_back({{"reason", "outbox-away"}, {"relay", one.relay}});
    if (!one.destination_up) {
      reasons.push_back({{"reason", "destination-away"}, {"relay", one.relay}});
    }
  }
  return reasons;
}

}  // namespace

resources relay_resources(relay_source read) {
  return worker_resources([read] { return reasons_of(read()); },
                          [read] { return metrics_text(read()); });
}

}  // namespace onceguard::admin
