// What a dispatcher knows of the database beside its records: its clock, and whose memory it is.
#include "base/log.hpp"
#include "store/postgres/dispatcher.hpp"

namespace onceguard::postgres {

void dispatcher::read_clock(std::int64_t database_now) {
  const auto boot = params_.clock->boot_ms();
  if (!wall_) {
    wall_memory first;
    first.offset = database_now - boot;
    wall_.emplace(first);
  }
  const bool paused = !wall_->trusts(boot, database_now);
  if (paused == expiry_paused_) return;
  expiry_paused_ = paused;
  base::log(paused ? base::event::clock_stepped : base::event::clock_confirmed, {{"store", name_}});
}

void dispatcher::read_generation(const known_generation& generation) {
  const bool same = generation.identity == generation_.identity;
  if (!same && !generation_.identity.empty()) memory_.changed();
  if (!same || generation.number > generation_.number) generation_ = generation;
}

}  // namespace onceguard::postgres
