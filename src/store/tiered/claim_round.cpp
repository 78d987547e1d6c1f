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
  for (auto& asked : batch) {
    auto& made = items_.emplace_back();
    made.marker.id = trusted_.slot_of(asked.id);
    made.marker.about = bare(asked.about);
    // Somebody else's marker says nothing about a claim that was made before, and one of its own
    // would outlast the lease that it was given then.
    made.alone = !asked.about || asked.repeated;
    made.asked = std::move(asked);
  }
}

std::vector<claim> claim_round::for_accelerator() const {
  std::vector<claim> out;
  for (const auto& each : items_) {
    if (each.alone) continue;
    auto& of = out.emplace_back();
    of.id = each.marker.id;
    of.claim_id = each.asked.claim_id;
    of.about = each.marker.about;
    of.lease = each.asked.lease;
    // What an old marker leaves open, the truth knows.
    of.unknown = unknown_policy::rerun;
    of.unknown_retention = marker_retention;
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

void claim_round::read(item& of, result<verdict>& reply) {
  if (!reply) {
    if (reply.error().effect != effect::none) of.has = marker_state::perhaps;
    return;
  }
  if (reply->kind == verdict_kind::run) {
    of.has = marker_state::held;
    of.marker.token = reply->lease.token;
  } else if (credible(of, *reply)) {
    of.told = std::move(reply);
  }
}

bool claim_round::credible(const item& of, const verdict& said) const {
  if (said.kind == verdict_kind::replay) return said.kept != answer_kept::none;
  return said.kind == verdict_kind::busy && trusted_.busy &&
         !marks_.outdated(of.asked.id, of.marker.id, now_);
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

void claim_round::concluded(item& of, milliseconds waited) {
  const auto& told = *of.told;
  if (!told) return release(of);
  if (told->kind == verdict_kind::run) {
    std::optional<marker> placed;
    if (of.has != marker_state::none) placed = of.marker;
    return marks_.hold(of.asked.claim_id, std::move(placed));
  }
  // Never with more than is left of its retention. "It took effect" may still get its answer.
  const auto left = told->retention_left - waited;
  const bool lasting = told->kind == verdict_kind::replay && told->kept != answer_kept::none;
  if (of.has != marker_state::held || !lasting || left.count() <= 0) return release(of);
  auto copy = settle_of(of, settle_kind::complete);
  copy.answer = told->answer;
  copy.kept = told->kept;
  copy.retention = left;
  settles_.push_back(std::move(copy));
  count(counters_.copied);
}

settlement claim_round::settle_of(const item& of, settle_kind kind) {
  settlement out;
  out.id = of.marker.id;
  out.about = of.marker.about;
  out.claim_id = of.asked.claim_id;
  out.token = of.marker.token;
  out.kind = kind;
  return out;
}

void claim_round::release(const item& of) {
  if (of.has == marker_state::held) settles_.push_back(settle_of(of, settle_kind::release));
  if (of.has == marker_state::perhaps)
    marks_.leave({of.marker.id, of.marker.about, of.asked.claim_id});
}

std::vector<result<verdict>> claim_round::take_verdicts() {
  std::vector<result<verdict>> out;
  out.reserve(items_.size());
  for (auto& each : items_) out.push_back(std::move(*each.told));
  return out;
}

}  // namespace onceguard::tiered
