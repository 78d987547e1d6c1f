#include "store/redis/pool/known_parts.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace onceguard::redis {
namespace {

/// A name without the number of losses.
std::string_view identity_in(std::string_view name) { return name.substr(0, name.rfind('-')); }

}  // namespace

void known_parts::take_greeting(std::size_t part, const std::string& run,
                                const greeting& greeting) {
  if (greeting.lost) base::log(base::event::acknowledged_writes_lost, {{"store", address_.name}});
  auto& mine = parts_[part];
  if (greeting.name != mine.name) {
    // For copies the tiered store decides what a loss means.
    if (!mine.name.empty() && !params_.copies_only) gate_.changed();
    mine = {greeting.name, run, 0};
  }
  // If replicas must confirm, a master's unconfirmed generation does not count: its promotion may
  // be taken back, and nothing that was acknowledged is lost then.
  if (address_.min_replicas == 0) {
    mine.run = run;
    mine.generation = std::max(mine.generation, greeting.generation);
  }
  read_clock(greeting.now);
}

void known_parts::take_generation(std::size_t part, const std::string& run,
                                  std::uint64_t generation) {
  auto& mine = parts_[part];
  if (generation <= mine.generation) return;
  mine.run = run;
  mine.generation = generation;
}

bool known_parts::rename(std::size_t part, const std::string& name) {
  auto& mine = parts_[part].name;
  if (mine == name || identity_in(mine) != identity_in(name)) return false;
  mine = name;
  return true;
}

void known_parts::log_loss_at_restart(const server_facts& facts) {
  if (params_.copies_only) return;
  const std::string loss(lost_by_restart(facts));
  if (loss == std::exchange(loss_logged_, loss)) return;
  base::log(base::event::restart_loss,
            keeps_everything(facts) ? base::log_level::info : base::log_level::warning,
            {{"store", address_.name}, {"loss", loss}, {"version", facts.version}});
  if (facts.eviction.empty()) {
    base::log(base::event::eviction_policy_unknown, {{"store", address_.name}});
  }
}

/// Expiry follows the server's clock in any case. A step of the clock is only logged.
void known_parts::read_clock(std::int64_t server_now) {
  const std::lock_guard lock(clock_);
  const auto boot = params_.clock->boot_ms();
  if (!wall_) wall_.emplace(wall_memory{.offset = server_now - boot});
  const bool distrusted = !wall_->trusts(boot, server_now);
  if (distrusted && !clock_distrusted_) {
    base::log(base::event::server_clock_stepped, {{"store", address_.name}});
  }
  clock_distrusted_ = distrusted;
}

}  // namespace onceguard::redis
