#include "admin/worker_resources.hpp"

#include <algorithm>
#include <prometheus/text_serializer.h>

#include <nlohmann/json.hpp>

#include "admin/metric_families.hpp"
#include "admin/process_metrics.hpp"
#include "text/record_json.hpp"

namespace onceguard::admin {
namespace {

using boost::asio::awaitable;

response answer_ready(const worker_state& now) {
  nlohmann::ordered_json body;
  body["ready"] = now.reasons.empty();
  auto& reasons = body["reasons"] = nlohmann::ordered_json::array();
  for (const auto& members : now.reasons) {
    auto& reason = reasons.emplace_back();
    for (const auto& [name, text] : members) reason[std::string(name)] = text;
  }
  const std::uint16_t status = now.reasons.empty() ? 200 : 503;
  return {.status = status, .body = json_line(body)};
}

response answer_metrics(const worker_state& now) {
  auto all = process_families();
  for (const auto& one : now.measurements) {
    auto family = std::ranges::find(all, one.name, &prometheus::MetricFamily::name);
    if (family == all.end()) {
      const auto make = one.name.ends_with("_total") ? counter_family : gauge_family;
      all.push_back(make(std::string(one.name), std::string(one.meaning)));
      family = all.end() - 1;
    }
    add_value(*family, one.value, {one.labels.begin(), one.labels.end()});
  }
  return {.body = prometheus::TextSerializer().Serialize(all),
          .type = "text/plain; version=0.0.4; charset=utf-8"};
}

}  // namespace

resources worker_resources(std::function<worker_state()> read) {
  resources out;
  out.push_back({"GET", "/healthz", access::open, [](const request&) -> awaitable<response> {
                   co_return response{.body = R"({"status":"ok"})"};
                 }});
  out.push_back({"GET", "/readyz", access::open, [read](const request&) -> awaitable<response> {
                   co_return answer_ready(read());
                 }});
  out.push_back({"GET", "/metrics", access::view, [read](const request&) -> awaitable<response> {
                   co_return answer_metrics(read());
                 }});
  return out;
}

}  // namespace onceguard::admin
