#include "gateway/reconciling.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "core/kept_key.hpp"
#include "engine/background.hpp"
#include "engine/held_lease.hpp"
#include "gateway/probe.hpp"
#include "http/kept_parts.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;

namespace {

asio::awaitable<void> reconcile_once(io_thread& thread, outcome_source* query) {
  if (query != nullptr) {
    const auto ready = co_await query->prepare();
    if (!ready) {
      base::log(base::event::query_not_asked, {{"why", ready.error().detail}});
      query = nullptr;
    }
  }
  std::vector<route_params> routes;
  for (const auto& r : thread.routing->routes()) routes.push_back(r.rule);
  const inquiries inquiries(thread.pool, routes, query);
  if (!inquiries.any()) co_return;
  auto choose = [&inquiries](const subject& subject) { return inquiries.about(subject); };
  reconcile_params params;
  params.store_timeout = thread.shared.params.store_timeout;
  params.audit = thread.shared.audit.get();
  params.author = {"gateway", "reconcile", {}};
  const auto ended = co_await reconcile(thread.io, thread.shared.engine.records(), params,
                                        std::move(choose), log_finding);
  if (!ended) {
    base::log(base::event::reconcile_broke_off, {{"why", ended.error().detail}});
  }
}

}  // namespace

asio::awaitable<void> keep_reconciling(io_thread& thread, outcome_source* query) {
  while (!thread.shared.draining) {
    co_await sleep_for(thread.shared.params.reconcile_interval);
    if (!thread.shared.draining) co_await reconcile_once(thread, query);
  }
}

/// A route, with its probe as an outcome source.
class route_probe final : public outcome_source {
 public:
  route_probe(upstream_pool& pool, route_params rule) : pool_(pool), rule_(std::move(rule)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "probe"; }
  asio::awaitable<effect_report> ask(const subject& about, const held_lease& held) override {
    const auto value = held.lease().token;
    auto question = make_probe_question(rule_.policy, about.scope, about.key, value);
    auto report = co_await ask_application(pool_, std::move(question), held);
    http::keep_parts_of(rule_.policy, rule_.host + rule_.path, report);
    co_return report;
  }

  [[nodiscard]] const route_params& rule() const noexcept { return rule_; }
  [[nodiscard]] bool has_probe() const noexcept { return !rule_.policy.probe.empty(); }
  /// Records name their route by its host and path.
  [[nodiscard]] bool has_name(std::string_view text) const {
    return text == rule_.host + rule_.path;
  }
  [[nodiscard]] bool takes(const std::string& method) const {
    return rule_.method.empty() ||
           std::find(rule_.method.begin(), rule_.method.end(), method) != rule_.method.end();
  }

 private:
  upstream_pool& pool_;
  const route_params rule_;
};

inquiries::inquiries(upstream_pool& pool, const std::vector<route_params>& routes,
                     outcome_source* query)
    : query_(query) {
  for (const auto& rule : routes) routes_.push_back(std::make_unique<route_probe>(pool, rule));
  // The order is that of request routing: a rule with methods precedes one without.
  std::stable_partition(routes_.begin(), routes_.end(),
                        [](const auto& r) { return !r->rule().method.empty(); });
}

inquiries::~inquiries() = default;

bool inquiries::any() const noexcept {
  // The application does not know what keys are kept as: "no such key" would let them run again.
  if (core::pepper_in_use() != nullptr) return false;
  return query_ != nullptr ||
         std::any_of(routes_.begin(), routes_.end(), [](const auto& r) { return r->has_probe(); });
}

route_probe* inquiries::route_of(const subject& subject) const {
  const auto named = [&](std::string_view name) {
    const auto found = std::find_if(routes_.begin(), routes_.end(), [&](const auto& r) {
      return r->has_name(name) && r->takes(subject.method);
    });
    return found == routes_.end() ? nullptr : found->get();
  };
  if (auto* found = named(subject.route)) return found;
  return named("/");
}

inquiry inquiries::about(const subject& subject) const {
  inquiry out;
  auto* route = route_of(subject);
  if (route != nullptr) out.retention = route->rule().policy.retention;
  if (route != nullptr && route->has_probe()) {
    const auto& policy = route->rule().policy;
    out.source = route;
    if (policy.probe_mode == probe_rule::ask) out.probe_after = policy.upstream_timeout;
  } else if (query_ != nullptr) {
    out.source = query_;
    // A query does not make the application refuse the earlier token, so the earlier attempt has to
    // be over.
    out.quiet = subject.run_timeout;
  }
  return out;
}

}  // namespace onceguard::gateway
