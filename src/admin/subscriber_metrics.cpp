#include "admin/subscriber_metrics.hpp"

#include <prometheus/text_serializer.h>

#include <nlohmann/json.hpp>

#include "admin/families.hpp"
#include "admin/process_numbers.hpp"
#include "text/json_text.hpp"

namespace onceguard::admin {
namespace {

using boost::asio::awaitable;

std::string metrics_text(const engine& engine, const std::vector<subscriber_numbers>& all) {
  auto received = counter_family("onceguard_messages_received_total", "Deliveries of messages.");
  auto outcomes = counter_family("onceguard_messages_total", "What deliveries came to.");
  auto dead = counter_family("onceguard_messages_dead_lettered_total",
                             "Messages that were stored among the dead letters.");
  auto lost = counter_family("onceguard_messages_not_settled_total",
                             "Outcomes that the broker did not take: it delivers again.");
  auto backlog = gauge_family("onceguard_messages_backlog", "Messages that wait at the broker.");
  auto connected = gauge_family("onceguard_broker_up", "Whether the queue is connected.");
  auto store = gauge_family("onceguard_store_up", "Whether the store answered the last poll.");
  for (const auto& one : all) {
    const std::pair<std::string_view, std::string_view> name{"subscriber", one.subscriber};
    add_value(received, static_cast<double>(one.received), {name});
    for (const auto& [outcome, count] : one.outcomes) {
      add_value(outcomes, static_cast<double>(count), {name, {"outcome", outcome}});
    }
    add_value(dead, static_cast<double>(one.dead_lettered), {name});
    add_value(lost, static_cast<double>(one.not_settled), {name});
    add_value(backlog, static_cast<double>(one.backlog), {name});
    add_value(connected, one.connected ? 1 : 0, {name});
  }
  add_value(store, engine.health().up ? 1 : 0);
  auto families = process_families();
  for (auto* family : {&received, &outcomes, &dead, &lost, &backlog, &connected, &store}) {
    families.push_back(std::move(*family));
  }
  return prometheus::TextSerializer().Serialize(families);
}

response answer_ready(const engine& engine, const std::vector<subscriber_numbers>& all) {
  auto reasons = nlohmann::ordered_json::array();
  if (const auto store = engine.health(); !store.up) {
    reasons.push_back({{"reason", "store-away"}, {"why", store.why}});
  }
  for (const auto& one : all) {
    if (!one.connected) {
      reasons.push_back({{"reason", "broker-away"}, {"subscriber", one.subscriber}});
    }
  }
  nlohmann::ordered_json body;
  body["ready"] = reasons.empty();
  const std::uint16_t status = reasons.empty() ? 200 : 503;
  body["reasons"] = std::move(reasons);
  return {.status = status, .body = json_line(body)};
}

}  // namespace

resources subscriber_resources(const engine& engine, subscriber_source read) {
  resources out;
  out.push_back({"GET", "/healthz", access::open, [](const request&) -> awaitable<response> {
                   co_return response{.body = R"({"status":"ok"})"};
                 }});
  out.push_back(
      {"GET", "/readyz", access::open, [&engine, read](const request&) -> awaitable<response> {
         co_return answer_ready(engine, read());
       }});
  out.push_back(
      {"GET", "/metrics", access::view, [&engine, read](const request&) -> awaitable<response> {
         auto text = metrics_text(engine, read());
         co_return response{.body = std::move(text),
                            .type = "text/plain; version=0.0.4; charset=utf-8"};
       }});
  return out;
}

}  // namespace onceguard::admin
