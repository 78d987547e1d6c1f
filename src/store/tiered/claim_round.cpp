#include "store/tiered/claim_round.hpp"

#include <algorithm>
#include <set>

namespace onceguard::tiered {
namespace {

// An abandoned marker leaves by itself so long after its lease.
constexpr milliseconds marker_retention{60'000};

void count(std::atomic<std::uint64_t>& which) { which.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

claim_round::claim_round(std::vector<claim> batch, const trusted_epoch& trusted,
                         marker_table& marks, tiered_counters& counters,
                         marker_table::time_point now)
    : trusted_(trusted), marks_(marks), counters_(counters), now_(now) {
  items_.reserve(batch.size());
  for (auto& request : batch) {
    auto& made = items_.emplace_back();
    made.marker.id = trusted_.slot_of(request.id);
    made.marker.about = bare(request.about);
    // Somebody else's marker says nothing about a claim that was made before, and one of its own
    // would outlast the lease that it was given then.
    made.alone = !request.about || request.repeated;
    made.request = std::move(request);
  }
}

std::vector<claim> claim_round::for_accelerator() const {
  std::vector<claim> out;
  for (const auto& each : items_) {
    if (each.alone) continue;
    auto& subject = out.emplace_back();
    subject.id = each.marker.id;
    subject.claim_id = each.request.claim_id;
    subject.about = each.marker.about;
    subject.lease = each.request.lease;
    // What an old marker leaves open, the truth knows.
    subject.unknown = unknown_policy::rerun;
    subject.unknown_retention = marker_retention;
  }
  return out;
}

void claim_round::accelerator_answered(std::vector<result<verdict>> replies) {
  auto reply = replies.begin();
  std::set<record_id> granted;
  for (auto& each : items_) {
    if (each.alone) continue;
    read(each, *reply++);
    if (each.has == marker_state::held) granted.insert(each.marker.id);
  }
  for (auto& each : items_) {
    // Busy with its own neighbour: as if it came after it, it hears what that one leads to.
    const bool busy = each.reply && (*each.reply)->kind == verdict_kind::busy;
    if (busy && granted.contains(each.marker.id)) each.reply.reset();
    if (!each.reply) {
      count(counters_.claims_of_truth);
    } else {
      count(busy ? counters_.busy : counters_.replays);
    }
  }
}

void claim_round::read(item& entry, result<verdict>& reply) {
  if (!reply) {
    if (reply.error().effect != effect::none) entry.has = marker_state::perhaps;
    return;
  }
  if (reply->kind == verdict_kind::run) {
    entry.has = marker_state::held;
    entry.marker.token = reply->lease.token;
  } else if (credible(entry, *reply)) {
    entry.reply = std::move(reply);
  }
}

bool claim_round::credible(const item& entry, const verdict& verdict) const {
  if (verdict.kind == verdict_kind::replay) return verdict.kept != answer_kept::none;
  return verdict.kind == verdict_kind::busy && trusted_.busy &&
         !marks_.outdated(entry.request.id, entry.marker.id, now_);
}

std::vector<claim> claim_round::for_truth() const {
  std::vector<claim> out;
  for (const auto& each : items_) {
    if (!each.reply) out.push_back(each.request);
  }
  return out;
}

void claim_round::truth_answered(std::vector<result<verdict>> replies, milliseconds waited) {
  auto reply = replies.begin();
  for (auto& each : items_) {
    if (each.reply) continue;
    each.reply = std::move(*reply++);
    concluded(each, waited);
  }
}

void claim_round::concluded(item& entry, milliseconds waited) {
  const auto& reply = *entry.reply;
  if (!reply) return release(entry);
  if (reply->kind == verdict_kind::run) {
    std::optional<marker> placed;
    if (entry.has != marker_state::none) placed = entry.marker;
    return marks_.hold(entry.request.claim_id, std::move(placed));
  }
  // Never with more than is left of its retention. "It took effect" may still get its answer.
  const auto left = reply->retention_left - waited;
  const bool lasting = reply->kind == verdict_kind::replay && reply->kept != answer_kept::none;
  if (entry.has != marker_state::held || !lasting || left.count() <= 0) return release(entry);
  auto copy = settle_of(entry, settle_kind::complete);
  copy.answer = reply->answer;
  copy.kept = reply->kept;
  copy.retention = left;
  settles_.push_back(std::move(copy));
  count(counters_.copied);
}

settlement claim_round::settle_of(const item& entry, settle_kind kind) {
  settlement out;
  out.id = entry.marker.id;
  out.about = entry.marker.about;
  out.claim_id = entry.request.claim_id;
  out.token = entry.marker.token;
  out.kind = kind;
  return out;
}

void claim_round::release(const item& entry) {
  if (entry.has == marker_state::held) settles_.push_back(settle_of(entry, settle_kind::release));
  if (entry.has == marker_state::perhaps)
    marks_.leave({entry.marker.id, entry.marker.about, entry.request.claim_id});
}

std::vector<result<verdict>> claim_round::take_verdicts() {
  std::vector<result<verdict>> out;
  out.reserve(items_.size());
  for (auto& each : items_) out.push_back(std::move(*each.reply));
  return out;
}

}  // namespace onceguard::tiered
