#include "store/redis/acts.hpp"

#include <algorithm>

#include "store/view.hpp"

namespace onceguard::redis {
namespace {

// Some 3,000 years: sums of it stay far from overflow.
constexpr milliseconds length_max{100'000'000'000'000};
// A first claim is decided at any time, as its times are relative to its write.
constexpr stamp any_time = 1'000'000;

position position_of(const reading& seen) {
  return {record_in(seen), first_in(seen), seen.begins, seen.at};
}

void bound(milliseconds& length) { length = std::clamp(length, milliseconds(0), length_max); }

}  // namespace

// --- claims ---------------------------------------------------------------------------------

std::optional<request> claim_act::begin() {
  if (!item_.about) return end(subject_missing());
  for (auto* each : {&item_.lease, &item_.probe_after, &item_.unknown_retention}) bound(*each);
  auto decided = decide(nullptr, item_, instant_of(any_time), 0);
  verdict_ = std::move(decided.verdict);
  position nowhere;
  nowhere.now = any_time;
  nowhere.fresh = true;
  auto out = replace(nowhere, std::move(*decided.write));
  out.grants = true;
  return out;
}

std::optional<request> claim_act::read(reading seen) {
  if (seen.written) {
    if (verdict_.lease.token == 0) verdict_.lease.token = seen.at;
    hold(seen.at);
    return end(std::move(verdict_));
  }
  if (auto wrong = fault_of(seen)) return end(std::move(*wrong));
  auto found = position_of(seen);
  if (found.former == nullptr) return begin();  // it was removed meanwhile
  const auto now = instant_of(found.now);
  auto decided = decide(found.former, item_, now, std::max(found.now, found.former->token + 1));
  if (!decided.write) return end(std::move(decided.verdict));
  verdict_ = std::move(decided.verdict);
  if (expired(*found.former, now)) found.first = 0;
  auto out = replace(found, std::move(*decided.write));
  out.grants = true;
  return out;
}

// --- settles --------------------------------------------------------------------------------

std::optional<request> settle_act::begin() {
  for (auto* each : {&item_.retention, &item_.backoff, &item_.backoff_max, &item_.probe_pause}) {
    bound(*each);
  }
  auto held = in_.leases.take(item_.id, item_.token, item_.claim_id);
  if (!held) return fetch();
  return decide_on({&held->stored.record, held->stored.first, held->begins, held->now()});
}

std::optional<request> settle_act::decide_on(const position& found) {
  auto decided = decide_settle(found.former, item_, instant_of(found.now));
  if (!decided.write) return end(std::move(decided.result));
  if (!decided.write->about) return end(subject_missing());
  settled_ = std::move(decided.result);
  auto out = replace(found, std::move(*decided.write));
  out.announces = true;
  return out;
}

std::optional<request> settle_act::read(reading seen) {
  if (seen.written) return end(std::move(settled_));
  if (auto wrong = fault_of(seen)) return end(std::move(*wrong));
  return decide_on(position_of(seen));
}

// --- extensions -----------------------------------------------------------------------------

std::optional<request> extend_act::begin() {
  bound(item_.lease);
  auto held = in_.leases.take(item_.id, item_.token, item_.claim_id);
  if (!held) return fetch();
  return decide_on({&held->stored.record, held->stored.first, held->begins, held->now()});
}

std::optional<request> extend_act::decide_on(const position& found) {
  auto decided = decide_extension(found.former, item_, instant_of(found.now));
  if (decided.stale) return end(false);
  return replace(found, std::move(*decided.write));
}

std::optional<request> extend_act::read(reading seen) {
  if (seen.written) {
    hold(seen.at);
    return end(true);
  }
  if (auto wrong = fault_of(seen)) return end(std::move(*wrong));
  return decide_on(position_of(seen));
}

}  // namespace onceguard::redis
