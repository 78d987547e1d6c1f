#include "gateway/reconciling.hpp"

#include "base/hash.hpp"
#include "base/log.hpp"
#include "engine/pause.hpp"
#include "gateway/probe_sources.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;
using base::log_level;

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

}  // namespace onceguard::gateway
