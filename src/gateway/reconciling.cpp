#include "gateway/reconciling.hpp"

#include "base/hash.hpp"
#include "base/log.hpp"
#include "engine/pause.hpp"
#include "gateway/probe_sources.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;
using base::log_level;

namespace {

/// What nobody can do anything about yet is no news each time.
log_level level_of(const finding& found) noexcept {
  switch (found.what) {
    case finding_kind::done:
    case finding_kind::not_done:
      return log_level::info;
    case finding_kind::still_unknown:
      return found.means.empty() ? log_level::debug : log_level::info;
    case finding_kind::too_early:
    case finding_kind::left_alone:
      break;
  }
  return log_level::debug;
}

void log_finding(const finding& found) {
  const auto& r = found.seen.stored;
  const auto why = r.why == unknown_reason::none ? unknown_reason::holder_gone : r.why;
  base::log(level_of(found), "reconciled",
            {{"decided", std::string(name_of(found.what))},
             {"means", std::string(found.means)},
             {"scope", base::to_hex(r.about->scope)},
             {"key", r.about->key},
             {"route", r.about->route},
             {"record", base::to_hex(found.seen.id)},
             {"claimed_ms", std::to_string(r.claimed_at_wall)},
             {"was_unknown", std::string(name_of(why))},
             {"fenced_with", std::to_string(found.fenced_with)},
             {"why", found.why}});
}

asio::awaitable<void> reconcile_once(io_thread& thread, outcome_source* query) {
  if (query != nullptr) {
    const auto ready = co_await query->prepare();
    if (!ready) {
      base::log(log_level::warning, "query-not-asked", {{"why", ready.error().detail}});
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
    base::log(log_level::warning, "reconcile-broke-off", {{"why", ended.error().detail}});
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
