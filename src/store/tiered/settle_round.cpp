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
std::optional<settlement> copy_of(const settlement& how, const settled& told, milliseconds waited) {
  if (how.kind != settle_kind::complete || told.outcome == settle_outcome::stale) {
    return std::nullopt;
  }
  // The application had completed it, with a retention of its own: the next repeat makes the copy.
  if (told.state == observed_state::completed) return std::nullopt;
  settlement out;
  out.answer = how.answer;
  out.kept = how.kept;
  out.retention = how.retention - waited;
  if (out.kept == answer_kept::none || out.retention.count() <= 0) return std::nullopt;
  return out;
}

}  // namespace

std::vector<settlement> after_settles(const std::vector<settlement>& asked,
                                      const std::vector<result<settled>>& told, milliseconds waited,
                                      const std::optional<trusted_epoch>& trusted,
                                      marker_table& marks, tiered_counters& counters) {
  std::vector<settlement> out;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto& how = asked[i];
    // It was not carried out, and will be tried again.
    if (!told[i] && told[i].error().effect == effect::none) continue;
    // An abandoned lease is given once more to the claim that had it.
    const bool over = how.kind != settle_kind::abandon;
    const auto placed_marker = over ? marks.take(how.claim_id) : marks.take_mark(how.claim_id);
    if (!placed_marker) continue;
    if (!trusted) {
      marks.leave({placed_marker->id, placed_marker->about, how.claim_id});
      continue;
    }
    if (placed_marker->id != trusted->slot_of(how.id)) continue;  // nobody looks there any more
    auto copy =
        told[i] && placed_marker->token != 0 ? copy_of(how, *told[i], waited) : std::nullopt;
    if (!copy) {
      out.push_back(release_of(how.claim_id, *placed_marker));
      continue;
    }
    copy->id = placed_marker->id;
    copy->about = placed_marker->about;
    copy->claim_id = how.claim_id;
    copy->token = placed_marker->token;
    out.push_back(std::move(*copy));
    counters.copied.fetch_add(1, std::memory_order_relaxed);
  }
  return out;
}

}  // namespace onceguard::tiered
