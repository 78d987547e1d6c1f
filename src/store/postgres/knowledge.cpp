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

/// A later copy of the database that lacks these leases is an older one. And a lease counts on from
/// what was known when the claim was sent, in the memory that was expected: if not, that memory was
/// taken back between the database's look at the expectation and the lease, for example by a
/// transaction that deletes records and sets their counter back.
void dispatcher::take_generations(const known_generation& expected,
                                  const claims::generation_range& granted) {
  if (expected.identity != generation_.identity || granted.lowest <= expected.number) {
    return memory_.changed();
  }
  generation_.number = std::max(generation_.number, granted.highest);
}

}  // namespace onceguard::postgres
