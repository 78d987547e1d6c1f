#include "admin/health.hpp"

#include <nlohmann/json.hpp>

#include "text/json_text.hpp"
#include "text/record_json.hpp"

namespace onceguard::admin {

using nlohmann::ordered_json;

std::vector<unready> unready_reasons(const engine& engine, const program& program) {
  std::vector<unready> out;
  const auto phase = program.phase_now();
  const auto store = engine.health();
  if (phase == phase::draining) out.push_back({.reason = "draining"});
  const auto add = [&out, &store](const char* reason) {
    unready one{.reason = reason, .why = store.why};
    if (store.since_wall != 0) one.since = time_text(store.since_wall);
    out.push_back(std::move(one));
  };
  // A store that never answered is part of a start that is not over.
  if (phase == phase::starting || !store.opened) {
    add("starting");
  } else if (!store.up) {
    add("store-away");
  }
  if (store.refuses_for.count() > 0) {
    out.push_back({.reason = "store-lost-its-memory",
                   .why = "new operations are refused until the earlier ones must be over",
                   .for_ms = store.refuses_for});
  }
  return out;
}

ordered_json reasons_json(const std::vector<unready>& reasons) {
  auto out = ordered_json::array();
  for (const auto& one : reasons) {
    ordered_json entry;
    entry["reason"] = one.reason;
    if (!one.since.empty()) entry["since"] = one.since;
    if (!one.why.empty()) entry["why"] = one.why;
    if (one.for_ms.count() > 0) entry["for_ms"] = one.for_ms.count();
    out.push_back(std::move(entry));
  }
  return out;
}

namespace {

response answer_ready(const engine& engine, const program& program) {
  const auto reasons = unready_reasons(engine, program);
  ordered_json body;
  body["ready"] = reasons.empty();
  body["reasons"] = reasons_json(reasons);
  const std::uint16_t status = reasons.empty() ? 200 : 503;
  return {.status = status, .body = json_line(body)};
}

}  // namespace

resources health_resources(const engine& engine, const program& program) {
  resources out;
  out.push_back(
      {"GET", "/healthz", access::open, [](const request&) -> boost::asio::awaitable<response> {
         co_return response{.body = R"({"status":"ok"})"};
       }});
  out.push_back({"GET", "/readyz", access::open,
                 [&engine, &program](const request&) -> boost::asio::awaitable<response> {
                   co_return answer_ready(engine, program);
                 }});
  return out;
}

}  // namespace onceguard::admin
