// What a dispatcher knows of the database apart from its records: the clock, the identity and the
// generation.
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

/// Takes note of the generations of granted leases, so that a copy of the database that lacks them
/// is found to be an older one. A new lease has a higher generation than the one that was known
/// when the claim was sent; a claim that was sent before may get its former lease again, with the
/// present generation. A lower one means that the memory was taken back after the database had
/// checked the claim's expectation, for example by a transaction that deletes records and sets the
/// counter back.
void dispatcher::take_generations(const known_generation& expected,
                                  const request_queue<claims>::batch& sent,
                                  const std::vector<std::uint64_t>& granted) {
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (granted[i] == 0) continue;
    const bool sent_before = sent[i].doubtful || sent[i].item().repeated;
    const auto least = sent_before ? expected.number : expected.number + 1;
    if (expected.identity != generation_.identity || granted[i] < least) {
      memory_.changed();
    } else {
      generation_.number = std::max(generation_.number, granted[i]);
    }
  }
}

}  // namespace onceguard::postgres
