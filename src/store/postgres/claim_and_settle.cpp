#include "store/postgres/claim_and_settle.hpp"

#include <algorithm>

#include "store/record_errors.hpp"

namespace onceguard::postgres {
namespace {

// While another transaction has locked the record, nobody knows for how long.
constexpr milliseconds retry_after_lock{50};

/// A token above the range of bigint was never granted by this store.
std::int64_t as_bigint(token value) noexcept {
  constexpr auto most = static_cast<token>(std::numeric_limits<std::int64_t>::max());
  return value > most ? -1 : static_cast<std::int64_t>(value);
}

first_claim first_claim_of(const claim& request) {
  first_claim out;
  out.lease = request.claim_id;
  out.lease_ms = request.lease.count();
  out.into_started = request.into_started;
  out.unknown_retention_ms = request.unknown_retention.count();
  out.retention_ms = request.retention.count();
  out.flags = request.maybe_repeated ? row_flag::maybe_repeated : 0;
  out.subject = sealed_subject(request.id, request.claim_id, *request.about);
  return out;
}

completion completion_of(const settlement& request) {
  completion out;
  out.lease = request.claim_id;
  out.token = as_bigint(request.token);
  out.retention_ms = request.retention.count();
  out.flags = request.by_application ? row_flag::by_application : 0;
  out.subject = sealed_subject(request.id, request.claim_id, *request.about);
  out.outcome = sealed_outcome(request.id, request.claim_id, request.kept, request.answer.get());
  return out;
}

}  // namespace

request write_request(const record_id& id, const reading& seen, record next) {
  request out;
  out.id = id;
  row_to_write row;
  row.version = seen.version;
  row.first = seen.found ? seen.found->first : 0;
  // Nothing is left of the steps of an operation that has ended.
  row.drops_steps = next.state == record_state::completed || next.state == record_state::released;
  row.record = std::move(next);
  out.content = std::move(row);
  return out;
}

template <class Item, class Outcome>
request act<Item, Outcome>::query(bool whole, bool pause) {
  request out;
  out.id = item_.id;
  out.content = record_query{whole};
  if (pause) {
    out.not_before =
        base::boot_now() + std::chrono::milliseconds(std::min(2u << std::min(tries_++, 5u), 50u));
  }
  return out;
}

template <class Item, class Outcome>
request act<Item, Outcome>::write(const reading& seen, record next) {
  written_ = true;
  return write_request(item_.id, seen, std::move(next));
}

// --- claims ---------------------------------------------------------------------------------

std::optional<request> claim_act::begin() {
  if (!item_.about) return end(subject_missing());
  bound_times(item_.lease, item_.probe_after, item_.unknown_retention, item_.retention);
  verdict_ = decide(nullptr, item_, {}, 0).verdict;
  request out;
  out.id = item_.id;
  out.content = first_claim_of(item_);
  written_ = true;
  return out;
}

std::optional<request> claim_act::read(request done) {
  const auto& seen = done.got;
  const bool was_write = std::exchange(written_, false);
  if (seen.written) {
    verdict_.lease.token = seen.token;
    return end(std::move(verdict_));
  }
  const bool first = std::holds_alternative<first_claim>(done.content);
  sent_twice_ = sent_twice_ || (was_write && done.doubtful);
  if (was_write && !first) return query(false, true);  // the record has changed, or is locked
  if (seen.unreadable) return end(*seen.unreadable);
  if (seen.version.empty()) {
    // There is no record to be seen: another transaction works on it, or it was removed just now.
    // A transaction that has ended since shows it. It may be that of this claim's first sending.
    if (first) return query();
    if (!sent_twice_ && !item_.repeated) return busy();
    auto again = *begin();
    again.not_before = query(false, true).not_before;
    return again;
  }
  if (auto whole = query_again(seen)) return whole;
  const auto now = instant_of(seen);
  const auto* former = seen.record_found();
  // The statement that writes makes the token itself, from the clock and the floor.
  auto decided = decide(former, item_, now, former->token + 1);
  if (decided.verdict.kind == verdict_kind::busy) pool_.note_waiting();
  if (decided.write && is_held(seen.version)) return busy();
  if (!decided.write) {
    if (decided.verdict.kind == verdict_kind::run && !pool_.gate().known()) {
      // A lease of this claim's first sending: while the memory is in doubt it is not handed out,
      // and whoever asked gives it back.
      return end(not_what_it_was(pool_.name(), effect::done));
    }
    return end(std::move(decided.verdict));
  }
  verdict_ = std::move(decided.verdict);
  auto out = write(seen, std::move(*decided.write));
  auto& row = std::get<row_to_write>(out.content);
  row.grants = true;
  row.retention = item_.retention;
  const bool anew = expired(*former, now);
  if (anew) row.first = 0;
  row.drops_steps = anew || former->state == record_state::released;
  return out;
}

/// Another transaction works on the record, and nobody knows for how long.
std::optional<request> claim_act::busy() {
  pool_.note_waiting();
  verdict busy;
  busy.retry_after = retry_after_lock;
  return end(std::move(busy));
}

/// Whether another transaction has held the record, as it is, for longer than a commit takes. It
/// may do so for longer than this claim's time, and at its end this claim would look like one that
/// the store failed.
bool claim_act::is_held(const std::string& version) {
  constexpr std::uint32_t most = 4;  // with the pauses between them, 30 ms
  if (version_ != version) in_vain_ = 0;
  version_ = version;
  return ++in_vain_ > most && !sent_twice_ && !item_.repeated;
}

// --- settles --------------------------------------------------------------------------------

std::optional<request> settle_act::begin() {
  bound_times(item_.retention, item_.backoff, item_.backoff_max, item_.probe_pause);
  if (item_.kind != settle_kind::complete || !item_.about) return query();
  request out;
  out.id = item_.id;
  out.content = completion_of(item_);
  out.announces = true;
  written_ = true;
  return out;
}

std::optional<request> settle_act::read(request done) {
  const auto& seen = done.got;
  const bool was_write = std::exchange(written_, false);
  if (seen.written) return end(std::move(settled_));
  if (was_write) {
    // A completion that met another state may be decided at once; a row that changed between
    // reading and writing is in somebody's hands.
    return query(false, !std::holds_alternative<completion>(done.content));
  }
  if (seen.unreadable) return end(*seen.unreadable);
  if (auto whole = query_again(seen)) return whole;
  auto stored = seen.found;
  // Steps that are done have taken effect, whatever became of the rest.
  if (stored && stored->recovery && item_.kind == settle_kind::release && !item_.by_application) {
    stored->record.earlier_unknown = true;
  }
  auto decided = decide_settle(stored ? &stored->record : nullptr, item_, instant_of(seen));
  if (!decided.write) return end(std::move(decided.result));
  if (!decided.write->about) return end(subject_missing());
  settled_ = std::move(decided.result);
  // The record of a lease whose own has expired is rebuilt over that of a later operation.
  const bool rebuilt = stored && stored->record.claim_id != item_.claim_id;
  auto out = write(seen, std::move(*decided.write));
  if (rebuilt) {
    auto& row = std::get<row_to_write>(out.content);
    row.drops_steps = true;
    row.retention = item_.retention;
  }
  out.announces = true;
  return out;
}

// --- extensions -----------------------------------------------------------------------------

std::optional<request> extend_act::begin() {
  bound_times(item_.lease);
  return query();
}

std::optional<request> extend_act::read(request done) {
  const auto& seen = done.got;
  const bool was_write = std::exchange(written_, false);
  if (seen.written) return end(true);
  if (was_write) return query(false, true);
  if (seen.unreadable) return end(*seen.unreadable);
  auto decided = decide_extension(seen.record_found(), item_, instant_of(seen));
  if (decided.stale) return end(false);
  return write(seen, std::move(*decided.write));
}

}  // namespace onceguard::postgres
