#include "store/redis/acts.hpp"

#include <algorithm>

#include "store/view.hpp"

namespace onceguard::redis {
namespace {

// Some 3,000 years: sums of it stay far from overflow.
constexpr milliseconds length_max{100'000'000'000'000};
// A first claim is decided at any time, as its times are relative to its write.
constexpr stamp any_time = 1'000'000;

template <class... Length>
void bound(Length&... lengths) {
  ((lengths = std::clamp(lengths, milliseconds(0), length_max)), ...);
}

}  // namespace

// --- claims ---------------------------------------------------------------------------------

std::optional<request> claim_act::begin() {
  if (!item_.about) return end(subject_missing());
  bound(item_.lease, item_.probe_after, item_.unknown_retention);
  position nowhere;
  nowhere.now = any_time;
  nowhere.fresh = true;
  return decide_on(nowhere);
}

std::optional<request> claim_act::decide_on(const position& found) {
  if (found.former == nullptr && !found.fresh) return begin();  // it was removed meanwhile
  const auto now = instant_of(found.now);
  const auto token = found.fresh ? 0 : std::max(found.now, found.former->token + 1);
  auto decided = decide(found.former, item_, now, token);
  if (!decided.write) return end(std::move(decided.verdict));
  verdict_ = std::move(decided.verdict);
  auto replaced = found;
  if (found.former != nullptr && expired(*found.former, now)) replaced.first = 0;
  auto out = replace(replaced, std::move(*decided.write));
  out.grants = true;
  return out;
}

verdict claim_act::written(stamp time) {
  if (verdict_.lease.token == 0) verdict_.lease.token = time;
  hold(time);
  return std::move(verdict_);
}

// --- settles --------------------------------------------------------------------------------

std::optional<request> settle_act::begin() {
  bound(item_.retention, item_.backoff, item_.backoff_max, item_.probe_pause);
  return decide_on_held();
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

// --- extensions -----------------------------------------------------------------------------

std::optional<request> extend_act::begin() {
  bound(item_.lease);
  return decide_on_held();
}

std::optional<request> extend_act::decide_on(const position& found) {
  auto decided = decide_extension(found.former, item_, instant_of(found.now));
  if (decided.stale) return end(false);
  return replace(found, std::move(*decided.write));
}

bool extend_act::written(stamp time) {
  hold(time);
  return true;
}

}  // namespace onceguard::redis
