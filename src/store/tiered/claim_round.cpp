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
    made.asked = std::move(request);
  }
}

std::vector<claim> claim_round::for_accelerator() const {
  std::vector<claim> out;
  for (const auto& each : items_) {
    if (each.alone) continue;
    auto& subject = out.emplace_back();
    subject.id = each.marker.id;
    subject.claim_id = each.asked.claim_id;
    subject.about = each.marker.about;
    subject.lease = each.asked.lease;
    // What an old marker leaves open, the truth knows.
    subject.unknown = unknown_policy::rerun;
    subject.unknown_retention = marker_retention;
  }
  return out;
}

void claim_round::accelerator_said(std::vector<result<verdict>> replies) {
  auto reply = replies.begin();
  std::set<record_id> granted;
  for (auto& each : items_) {
    if (each.alone) continue;
    read(each, *reply++);
    if (each.has == marker_state::held) granted.insert(each.marker.id);
  }
  for (auto& each : items_) {
    // Busy with its own neighbour: as if it came after it, it hears what that one leads to.
    const bool busy = each.told && (*each.told)->kind == verdict_kind::busy;
    if (busy && granted.contains(each.marker.id)) each.told.reset();
    if (!each.told) {
      count(counters_.asked_truth);
    } else {
      count(busy ? counters_.busy : counters_.replays);
    }
  }
}

void claim_round::read(item& item, result<verdict>& reply) {
  if (!reply) {
    if (reply.error().effect != effect::none) item.has = marker_state::perhaps;
    return;
  }
  if (reply->kind == verdict_kind::run) {
    item.has = marker_state::held;
    item.marker.token = reply->lease.token;
  } else if (credible(item, *reply)) {
    item.told = std::move(reply);
  }
}

bool claim_round::credible(const item& item, const verdict& verdict) const {
  if (verdict.kind == verdict_kind::replay) return verdict.kept != answer_kept::none;
  return verdict.kind == verdict_kind::busy && trusted_.busy &&
         !marks_.outdated(item.asked.id, item.marker.id, now_);
}

std::vector<claim> claim_round::for_truth() const {
  std::vector<claim> out;
  for (const auto& each : items_) {
    if (!each.told) out.push_back(each.asked);
  }
  return out;
}

void claim_round::truth_said(std::vector<result<verdict>> replies, milliseconds waited) {
  auto reply = replies.begin();
  for (auto& each : items_) {
    if (each.told) continue;
    each.told = std::move(*reply++);
    concluded(each, waited);
  }
}

void claim_round::concluded(item& item, milliseconds waited) {
  const auto& reply = *item.told;
  if (!reply) return release(item);
  if (reply->kind == verdict_kind::run) {
    std::optional<marker> placed;
    if (item.has != marker_state::none) placed = item.marker;
    return marks_.hold(item.asked.claim_id, std::move(placed));
  }
  // Never with more than is left of its retention. "It took effect" may still get its answer.
  const auto left = reply->retention_left - waited;
  const bool lasting = reply->kind == verdict_kind::replay && reply->kept != answer_kept::none;
  if (item.has != marker_state::held || !lasting || left.count() <= 0) return release(item);
  auto copy = settle_of(item, settle_kind::complete);
  copy.answer = reply->answer;
  copy.kept = reply->kept;
  copy.retention = left;
  settles_.push_back(std::move(copy));
  count(counters_.copied);
}

settlement claim_round::settle_of(const item& item, settle_kind kind) {
  settlement out;
  out.id = item.marker.id;
  out.about = item.marker.about;
  out.claim_id = item.asked.claim_id;
  out.token = item.marker.token;
  out.kind = kind;
  return out;
}

void claim_round::release(const item& item) {
  if (item.has == marker_state::held) settles_.push_back(settle_of(item, settle_kind::release));
  if (item.has == marker_state::perhaps)
    marks_.leave({item.marker.id, item.marker.about, item.asked.claim_id});
}

std::vector<result<verdict>> claim_round::take_verdicts() {
  std::vector<result<verdict>> out;
  out.reserve(items_.size());
  for (auto& each : items_) out.push_back(std::move(*each.told));
  return out;
}

}  // namespace onceguard::tiered
