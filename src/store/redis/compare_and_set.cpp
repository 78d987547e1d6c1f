#include "store/redis/compare_and_set.hpp"

#include <algorithm>

namespace onceguard::redis {

// --- reading --------------------------------------------------------------------------------

reading act::nothing_seen() {
  constexpr stamp any_time = 1'000'000;  // the times of a first claim are relative to its write
  reading out;
  out.time = any_time;
  out.now = instant_of(any_time);
  return out;
}

std::optional<request> act::read_again() const { return record_request(context_.names, id_); }

std::optional<request> act::decide_on_held(token token, const claim_id& claim_id) {
  auto held = context_.leases.take(id_, token, claim_id);
  if (!held) return read_again();
  reading seen;
  seen.time = held->now();
  seen.now = instant_of(seen.time);
  seen.begins = std::move(held->begins);
  seen.found = std::move(held->stored);
  return decide_on(seen);
}

std::optional<request> act::take(const request& done) {
  auto seen = read_outcome(done, read_record);
  if (!seen) return fail(seen.error());
  if (seen->written) {
    left_unknown_ = leaves_unknown_;
    written_at_ = seen->time;
    return written();
  }
  seen->unreadable = fault_of(*seen);
  met_unknown_ = seen->unreadable || (seen->found && observe(seen->found->record, seen->now) ==
                                                         observed_state::unknown);
  return seen->unreadable ? meet_unreadable(*seen) : decide_on(*seen);
}

// --- writing --------------------------------------------------------------------------------

std::optional<request> act::replace(const reading& seen, record stored, write_cause why) {
  const auto* former = seen.former();
  leaves_unknown_ = observe(stored, seen.now) == observed_state::unknown;
  pending_ = undated(std::move(stored), seen.now, former);
  first_ = seen.found ? seen.found->first : 0;
  const bool claims = why == write_cause::claim;
  if (claims && former != nullptr && expired(*former, seen.now)) first_ = 0;
  if (why == write_cause::import) first_ = std::max(seen.time, pending_.token + 1);
  const auto payload = encode_payload(pending_, first_);
  lease_ = lease_of(payload);
  const auto life = life_of(pending_, seen.now);
  auto out = claims && seen.begins.empty() ? set_record(context_.names, id_, payload, life)
                                           : swap_record(context_.names, id_, seen.begins, payload,
                                                         life, why == write_cause::forget);
  out.grants = claims;
  out.announces =
      why == write_cause::settle || why == write_cause::resolve || why == write_cause::forget;
  out.repeatable = !by_operator(why);
  return out;
}

void act::hold() {
  date(pending_, written_at_);
  cached_lease out{{std::move(pending_), first_ == 0 ? written_at_ : first_, written_at_},
                   beginning_of(written_at_, lease_)};
  context_.leases.put(id_, std::move(out));
}

}  // namespace onceguard::redis
