#include "store/tiered/claim_round.hpp"

#include <algorithm>
#include <set>

namespace onceguard::tiered {
namespace {

// How long after its lease an abandoned marker disappears by itself.
constexpr milliseconds marker_retention{60'000};

/// The part of a subject that the accelerator needs. It does not reveal whose key it is.
subject_ptr bare(const subject_ptr& about) {
  if (!about) return nullptr;
  auto out = std::make_shared<subject>();
  out->print = about->print;
  return out;
}

void count(std::atomic<std::uint64_t>& which) { which.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

claim_round::claim_round(std::vector<claim> batch, const trusted_epoch& trusted,
                         marker_table& markers, tiered_counters& counters,
                         marker_table::time_point now)
    : trusted_(trusted), markers_(markers), counters_(counters), now_(now) {
  items_.reserve(batch.size());
  for (auto& request : batch) {
    auto& made = items_.emplace_back();
    made.marker.id = trusted_.slot_of(request.id);
    made.marker.about = bare(request.about);
    // The first sending of a repeated claim may have got a lease already. Another claim's marker
    // does not tell, and a new marker would outlast that lease.
    made.truth_only = !request.about || request.repeated;
    made.outdated = markers_.may_be_outdated(request.id, made.marker.id, now_);
    made.request = std::move(request);
  }
}

std::vector<claim> claim_round::marker_claims() const {
  std::vector<claim> out;
  for (const auto& each : items_) {
    if (each.truth_only) continue;
    auto& marker_claim = out.emplace_back();
    marker_claim.id = each.marker.id;
    marker_claim.claim_id = each.request.claim_id;
    marker_claim.about = each.marker.about;
    marker_claim.lease = each.request.lease;
    // An old marker must not block: the truth knows the outcome.
    marker_claim.unknown = unknown_policy::rerun;
    marker_claim.unknown_retention = marker_retention;
  }
  return out;
}

void claim_round::take_accelerator_reply(std::vector<result<verdict>> replies) {
  auto reply = replies.begin();
  std::set<record_id> granted;
  for (auto& each : items_) {
    if (each.truth_only) continue;
    take_marker_verdict(each, *reply++);
    if (each.has_marker == marker_state::held) granted.insert(each.marker.id);
  }
  for (auto& each : items_) {
    // Busy with another claim of this batch: the truth answers both, this one as the later one.
    const bool busy = each.reply && (*each.reply)->kind == verdict_kind::busy;
    if (busy && granted.contains(each.marker.id)) each.reply.reset();
    if (!each.reply) {
      count(counters_.claims_of_truth);
    } else {
      count(busy ? counters_.busy : counters_.replays);
    }
  }
}

void claim_round::take_marker_verdict(item& entry, result<verdict>& reply) {
  if (!reply) {
    if (reply.error().effect != effect::none) entry.has_marker = marker_state::in_doubt;
    return;
  }
  if (reply->kind == verdict_kind::run) {
    entry.has_marker = marker_state::held;
    entry.marker.token = reply->lease.token;
  } else if (credible(entry, *reply)) {
    // A clock of the accelerator that went back is found within this time. Until then an answer
    // whose retention is over may still be there, and no cache above this store may keep it for
    // longer.
    reply->retention_left = std::min(reply->retention_left, fresh_for);
    const bool busy = reply->kind == verdict_kind::busy;
    entry.to_be_confirmed = busy && markers_.is_to_be_confirmed(entry.request.id, now_);
    if (!entry.to_be_confirmed) entry.reply = std::move(reply);
  }
}

bool claim_round::credible(const item& entry, const verdict& verdict) const {
  if (verdict.kind == verdict_kind::replay) return verdict.kept != answer_kept::none;
  return verdict.kind == verdict_kind::busy && trusted_.busy && !entry.outdated &&
         !markers_.may_be_outdated(entry.request.id, entry.marker.id, now_);
}

std::vector<claim> claim_round::truth_claims() const {
  std::vector<claim> out;
  for (const auto& each : items_) {
    if (!each.reply) out.push_back(each.request);
  }
  return out;
}

void claim_round::take_truth_reply(std::vector<result<verdict>> replies, milliseconds waited) {
  auto reply = replies.begin();
  for (auto& each : items_) {
    if (each.reply) continue;
    each.reply = std::move(*reply++);
    take_truth_verdict(each, waited);
  }
}

void claim_round::take_truth_verdict(item& entry, milliseconds waited) {
  const auto& reply = *entry.reply;
  if (!reply) return remove_marker(entry);
  // Whoever has ended that lease knew of no marker.
  if (entry.to_be_confirmed && reply->kind != verdict_kind::busy) {
    markers_.clear_later(entry.request.id);
  }
  if (reply->kind == verdict_kind::run) {
    std::optional<marker> placed;
    if (entry.has_marker != marker_state::none) placed = entry.marker;
    return markers_.add_lease(entry.request.claim_id, std::move(placed));
  }
  // A copy never gets more than the retention that is left. A completion without an answer is not
  // copied, because the answer may still arrive.
  const auto left = reply->retention_left - waited;
  const bool lasting = reply->kind == verdict_kind::replay && reply->kept != answer_kept::none;
  if (entry.has_marker != marker_state::held || !lasting || left.count() <= 0)
    return remove_marker(entry);
  settle_terms copy;
  copy.answer = reply->answer;
  copy.kept = reply->kept;
  copy.retention = left;
  settles_.push_back(settle_marker(entry.marker, entry.request.claim_id, std::move(copy)));
  count(counters_.copied);
}

void claim_round::remove_marker(const item& entry) {
  const auto& holder = entry.request.claim_id;
  if (entry.has_marker == marker_state::held)
    settles_.push_back(release_marker(entry.marker.id, entry.marker.about, holder));
  if (entry.has_marker == marker_state::in_doubt)
    markers_.remove_later({entry.marker.id, entry.marker.about, holder});
}

std::vector<result<verdict>> claim_round::take_verdicts() {
  std::vector<result<verdict>> out;
  out.reserve(items_.size());
  for (auto& each : items_) out.push_back(std::move(*each.reply));
  return out;
}

}  // namespace onceguard::tiered
