#include "admin/subscriber_metrics.hpp"

#include <prometheus/text_serializer.h>

#include <nlohmann/json.hpp>

#include "admin/families.hpp"
#include "admin/process_numbers.hpp"
#include "admin/worker_resources.hpp"

namespace onceguard::admin {
namespace {

std::string metrics_text(const engine& engine, const std::vector<subscriber_numbers>& all) {
  auto received = counter_family("onceguard_messages_received_total", "Deliveries of messages.");
  auto outcomes = counter_family("onceguard_messages_total", "What deliveries came to.");
  auto dead = counter_family("onceguard_messages_dead_lettered_total",
                             "Messages that were stored among the dead letters.");
  auto lost = counter_family("onceguard_messages_not_settled_total",
                             "Outcomes that the broker did not take: it delivers again.");
  auto last = counter_family("onceguard_messages_last_delivery_total",
                             "Deliveries that are the last one by the broker's own limit.");
  auto dropped = counter_family("onceguard_messages_dropped_total",
                                "Messages that the broker gave up by itself, as far as it tells.");
  auto backlog = gauge_family("onceguard_messages_backlog", "Messages that wait at the broker.");
  auto connected = gauge_family("onceguard_broker_up", "Whether the queue is connected.");
  auto circuit =
      gauge_family("onceguard_circuit_open",
                   "Whether no messages are taken, as the store or the endpoint is away.");
  auto store = gauge_family("onceguard_store_up", "Whether the store answers, and takes writes.");
  for (const auto& one : all) {
    const std::pair<std::string_view, std::string_view> name{"subscriber", one.subscriber};
    add_value(received, static_cast<double>(one.received), {name});
    for (const auto& [outcome, count] : one.outcomes) {
      add_value(outcomes, static_cast<double>(count), {name, {"outcome", outcome}});
    }
    add_value(dead, static_cast<double>(one.dead_lettered), {name});
    add_value(lost, static_cast<double>(one.not_settled), {name});
    add_value(last, static_cast<double>(one.last_deliveries), {name});
    add_value(dropped, static_cast<double>(one.dropped), {name});
    add_value(backlog, static_cast<double>(one.backlog), {name});
    add_value(connected, one.connected ? 1 : 0, {name});
    add_value(circuit, one.circuit_open ? 1 : 0, {name});
  }
  add_value(store, engine.health().up ? 1 : 0);
  auto families = process_families();
  for (auto* family : {&received, &outcomes, &dead, &lost, &last, &dropped, &backlog, &connected,
                       &circuit, &store}) {
    families.push_back(std::move(*family));
  }
  return prometheus::TextSerializer().Serialize(families);
}

nlohmann::ordered_json reasons_of(const engine& engine,
                                  const std::vector<subscriber_numbers>& all) {
  auto reasons = nlohmann::ordered_json::array();
  if (const auto store = engine.health(); !store.up) {
    reasons.push_back({{"reason", "store-away"}, {"why", store.why}});
  }
  for (const auto& one : all) {
    if (!one.connected) {
      reasons.push_back({{"reason", "broker-away"}, {"subscriber", one.subscriber}});
    }
  }
  return reasons;
}

}  // namespace

resources subscriber_resources(const engine& engine, subscriber_source read) {
  return worker_resources([&engine, read] { return reasons_of(engine, read()); },
                          [&engine, read] { return metrics_text(engine, read()); });
}

}  // namespace onceguard::admin
