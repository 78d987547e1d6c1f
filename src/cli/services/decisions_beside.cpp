#include "cli/services/decisions_beside.hpp"

#include <utility>

#include "config/load.hpp"

namespace onceguard::cli::services {
namespace {

/// It ends before the gateway, which ends the engine.
serve::serve_params params_beside(const config::settings& settings) {
  auto out = settings.serve;
  out.drain = settings.gateway.drain / 10 * 9;
  return out;
}

/// The gateway alone asks applications: what is unknown stays so here until it has.
serve::serve_rules rules_beside(const config::settings& settings) {
  auto out = config::serve_rules_of(settings);
  for (auto& route : out.routes) {
    if (route.policy.unknown == unknown_policy::probe) route.policy.unknown = unknown_policy::hold;
  }
  return out;
}

guard_params guard_beside(const config::settings& settings) {
  guard_params out;
  out.store_timeout = settings.store.timeout;
  return out;
}

}  // namespace

decisions_beside::decisions_beside(gateway::server& gateway, store& records,
                                   const config::settings& settings)
    : gateway_(gateway),
      records_(guard::over(gateway.engine(), records, gateway.budget(), guard_beside(settings))),
      service_(records_, params_beside(settings)) {
  gateway_.end_after([serving = serving_] { return !*serving; });
}

decisions_beside::~decisions_beside() {
  service_.stop();
  if (ending_.joinable()) ending_.join();
}

result<void> decisions_beside::start(const http1::passed_listener& passed) {
  if (auto begun = service_.start(passed); !begun) return begun;
  *serving_ = true;
  ending_ = std::thread([this] {
    service_.wait();
    *serving_ = false;
  });
  return {};
}

result<void> decisions_beside::reload(const config::settings& settings) {
  return service_.set_rules(rules_beside(settings));
}

}  // namespace onceguard::cli::services
