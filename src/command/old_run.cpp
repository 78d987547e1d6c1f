#include "command/old_run.hpp"

#include "core/request.hpp"
#include "guard/blocking.hpp"
#include "store/resolve.hpp"

namespace onceguard {
namespace {

// A tenth of a period: timers have jitter, and a day may have 23 hours.
constexpr int tolerance = 10;

/// Ages are differences of the store's own clock.
bool is_old(const record_view& seen, const command_rules& rules) {
  if (rules.every.count() > 0 && seen.age >= least_period(rules.every)) return true;
  const milliseconds run(seen.stored.settled_at_wall - seen.stored.claimed_at_wall);
  return rules.fresh_after.count() > 0 && seen.age - run >= rules.fresh_after;
}

}  // namespace

milliseconds least_period(milliseconds period) noexcept { return period - period / tolerance; }

result<bool> release_old_run(guard& records, const request& request, const command_rules& rules) {
  if (rules.every.count() <= 0 && rules.fresh_after.count() <= 0) return false;
  const auto id = digests_of(request).id;
  const auto timeout = records.store_timeout();
  auto found = run_here(records.records().find(id, timeout));
  if (!found) return std::move(found).error();
  const auto& seen = *found;
  if (seen && seen->state == observed_state::completed && !is_old(*seen, rules)) return false;
  if (seen && seen->state == observed_state::completed) {
    auto forgotten = resolution_of_seen(*seen);
    const auto ended = run_here(records.records().resolve(std::move(forgotten), timeout));
    if (!ended) return ended.error();
  }
  return true;  // or it has changed meanwhile
}

}  // namespace onceguard
