#include "admin/store_api.hpp"

#include <sys/stat.h>
#include <utility>

#include <nlohmann/json.hpp>

#include "admin/overview.hpp"
#include "admin/responses.hpp"
#include "base/clock.hpp"
#include "text/json_text.hpp"

namespace onceguard::admin {

using nlohmann::ordered_json;

namespace {

ordered_json health_json(const store_health& now) {
  ordered_json out;
  out["up"] = now.up;
  if (now.since_wall != 0) out["failing_since"] = time_text(now.since_wall);
  if (!now.why.empty()) out["why"] = now.why;
  out["refuses_for_ms"] = now.refuses_for.count();
  out["forgot"] = now.flagged;
  if (now.swept_wall != 0) out["swept_at"] = time_text(now.swept_wall);
  return out;
}

/// The file, and when it was written last; no time: it is not there.
ordered_json witness_json(const std::string& path) {
  ordered_json out{{"path", path}};
  struct stat seen {};
  if (::stat(path.c_str(), &seen) == 0) {
    out["written_at"] = time_text(static_cast<std::int64_t>(seen.st_mtim.tv_sec) * 1'000 +
                                  seen.st_mtim.tv_nsec / 1'000'000);
  }
  return out;
}

/// What it and the engine count, with what each number means.
ordered_json numbers_json(onceguard::engine& engine) {
  auto out = ordered_json::array();
  const auto add = [&out](std::string_view name, std::string_view meaning, double value) {
    out.push_back({{"name", name}, {"meaning", meaning}, {"value", value}});
  };
  for (const auto& one : engine.records().numbers()) add(one.name, one.meaning, one.value);
  for (const auto* one : engine.counters().all) {
    add(one->name, one->meaning, static_cast<double>(one->load(std::memory_order_relaxed)));
  }
  return out;
}

boost::asio::awaitable<response> show_store(metric_sources sources, store_facts facts) {
  auto& records = sources.engine.records();
  const auto traits = records.traits();
  ordered_json body;
  body["kind"] = traits.name;
  body["location"] = facts.location;
  if (!facts.accelerator.empty()) body["accelerator"] = facts.accelerator;
  body["durable"] = traits.durable;
  body["shared"] = traits.shared;
  body["transactional"] = traits.transactional;
  const auto begun = base::boot_now();
  const auto answer = co_await records.vitals(facts.timeout);
  const auto taken = base::boot_now() - begun;
  body["health"] = health_json(sources.engine.health());
  if (answer) {
    body["answers_in_us"] = std::chrono::duration_cast<std::chrono::microseconds>(taken).count();
  } else {
    body["does_not_answer"] = answer.error().detail;
  }
  if (!facts.witness.empty()) body["witness"] = witness_json(facts.witness);
  body["records"] = counted_json(sources.records);
  body["numbers"] = numbers_json(sources.engine);
  co_return json_response(body);
}

}  // namespace

resources store_resources(const metric_sources& sources, store_facts facts) {
  resources out;
  out.push_back(
      {"GET", "/api/store", access::view,
       [sources, facts = std::move(facts)](const request&) { return show_store(sources, facts); }});
  return out;
}

}  // namespace onceguard::admin
