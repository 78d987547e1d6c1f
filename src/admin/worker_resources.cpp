#include "admin/worker_resources.hpp"

#include <nlohmann/json.hpp>

#include "text/record_json.hpp"

namespace onceguard::admin {
namespace {

using boost::asio::awaitable;

response answer_ready(nlohmann::ordered_json reasons) {
  nlohmann::ordered_json body;
  body["ready"] = reasons.empty();
  const std::uint16_t status = reasons.empty() ? 200 : 503;
  body["reasons"] = std::move(reasons);
  return {.status = status, .body = json_line(body)};
}

}  // namespace

resources worker_resources(std::function<nlohmann::ordered_json()> reasons,
                           std::function<std::string()> metrics) {
  resources out;
  out.push_back({"GET", "/healthz", access::open, [](const request&) -> awaitable<response> {
                   co_return response{.body = R"({"status":"ok"})"};
                 }});
  out.push_back({"GET", "/readyz", access::open,
                 [reasons = std::move(reasons)](const request&) -> awaitable<response> {
                   co_return answer_ready(reasons());
                 }});
  out.push_back({"GET", "/metrics", access::view,
                 [metrics = std::move(metrics)](const request&) -> awaitable<response> {
                   auto text = metrics();
                   co_return response{.body = std::move(text),
                                      .type = "text/plain; version=0.0.4; charset=utf-8"};
                 }});
  return out;
}

}  // namespace onceguard::admin
