#include "store/tiered/settle_round.hpp"

namespace onceguard::tiered {
namespace {

/// The copy of the answer that the record has now. Empty: the answer is not known, or not final.
std::optional<settle_terms> copy_of(const settlement& request, const settled& reply,
                                    milliseconds waited) {
  if (request.kind != settle_kind::complete || reply.outcome == settle_outcome::stale) {
    return std::nullopt;
  }
  // The application had completed the record, with its own retention: the next repeat copies it.
  if (reply.state == observed_state::completed) return std::nullopt;
  settle_terms out;
  out.answer = request.answer;
  out.kept = request.kept;
  out.retention = request.retention - waited;
  if (out.kept == answer_kept::none || out.retention.count() <= 0) return std::nullopt;
  return out;
}

}  // namespace

std::vector<settlement> settles_for_accelerator(const std::vector<settlement>& items,
                                                const std::vector<result<settled>>& batch,
                                                milliseconds waited,
                                                const std::optional<trusted_epoch>& trusted,
                                                marker_table& markers, tiered_counters& counters) {
  std::vector<settlement> out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& request = items[i];
    // The settle was not carried out, and will be repeated.
    if (!batch[i] && batch[i].error().effect == effect::none) continue;
    if (!markers.has_lease(request.claim_id)) {
      // Claimed by a process that may be gone, settled here: its marker would say busy until the
      // lease would have ended.
      if (trusted) {
        out.push_back(release_marker(trusted->slot_of(request.id), nullptr, request.claim_id));
      } else {
        markers.clear_later(request.id);
      }
      continue;
    }
    // The claim that abandoned a lease may get the lease again.
    const bool over = request.kind != settle_kind::abandon;
    const auto lease_marker =
        over ? markers.end_lease(request.claim_id) : markers.take_marker(request.claim_id);
    if (!lease_marker) continue;
    if (!trusted) {
      markers.remove_later({lease_marker->id, lease_marker->about, request.claim_id});
      continue;
    }
    if (lease_marker->id != trusted->slot_of(request.id)) continue;  // in a former epoch
    auto copy =
        batch[i] && lease_marker->token != 0 ? copy_of(request, *batch[i], waited) : std::nullopt;
    if (!copy) {
      out.push_back(release_marker(lease_marker->id, lease_marker->about, request.claim_id));
      continue;
    }
    out.push_back(settle_marker(*lease_marker, request.claim_id, std::move(*copy)));
    counters.copied.fetch_add(1, std::memory_order_relaxed);
  }
  return out;
}

}  // namespace onceguard::tiered
