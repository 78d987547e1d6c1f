#include "store/tiered/settle_round.hpp"

namespace onceguard::tiered {
namespace {

/// Ends the marker by the claim id alone: its token may never have been heard.
settlement release_of(const claim_id& holder, const marker& placed_marker) {
  settlement out;
  out.id = placed_marker.id;
  out.about = placed_marker.about;
  out.claim_id = holder;
  out.kind = settle_kind::release;
  return out;
}

/// The answer that stands in the record now; none: what stands there is not known, or not final.
std::optional<settlement> copy_of(const settlement& request, const settled& reply,
                                  milliseconds waited) {
  if (request.kind != settle_kind::complete || reply.outcome == settle_outcome::stale) {
    return std::nullopt;
  }
  // The application had completed it, with a retention of its own: the next repeat makes the copy.
  if (reply.state == observed_state::completed) return std::nullopt;
  settlement out;
  out.answer = request.answer;
  out.kept = request.kept;
  out.retention = request.retention - waited;
  if (out.kept == answer_kept::none || out.retention.count() <= 0) return std::nullopt;
  return out;
}

}  // namespace

std::vector<settlement> after_settles(const std::vector<settlement>& items,
                                      const std::vector<result<settled>>& batch,
                                      milliseconds waited,
                                      const std::optional<trusted_epoch>& trusted,
                                      marker_table& marks, tiered_counters& counters) {
  std::vector<settlement> out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& request = items[i];
    // It was not carried out, and will be tried again.
    if (!batch[i] && batch[i].error().effect == effect::none) continue;
    // An abandoned lease is given once more to the claim that had it.
    const bool over = request.kind != settle_kind::abandon;
    const auto placed_marker =
        over ? marks.take(request.claim_id) : marks.take_mark(request.claim_id);
    if (!placed_marker) continue;
    if (!trusted) {
      marks.leave({placed_marker->id, placed_marker->about, request.claim_id});
      continue;
    }
    if (placed_marker->id != trusted->slot_of(request.id)) continue;  // nobody looks there any more
    auto copy =
        batch[i] && placed_marker->token != 0 ? copy_of(request, *batch[i], waited) : std::nullopt;
    if (!copy) {
      out.push_back(release_of(request.claim_id, *placed_marker));
      continue;
    }
    copy->id = placed_marker->id;
    copy->about = placed_marker->about;
    copy->claim_id = request.claim_id;
    copy->token = placed_marker->token;
    out.push_back(std::move(*copy));
    counters.copied.fetch_add(1, std::memory_order_relaxed);
  }
  return out;
}

}  // namespace onceguard::tiered
