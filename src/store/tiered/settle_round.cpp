#include "store/tiered/settle_round.hpp"

namespace onceguard::tiered {
namespace {

/// Ends the marker by the claim id alone: its token may never have been heard.
settlement release_of(const claim_id& nonce, const mark& own) {
  settlement out;
  out.id = own.at;
  out.about = own.about;
  out.nonce = nonce;
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
                                      const std::optional<belief>& believed, own_marks& marks,
                                      tiered_counters& counters) {
  std::vector<settlement> out;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto& how = asked[i];
    // It was not carried out, and will be tried again.
    if (!told[i] && told[i].error().effect == effect::none) continue;
    // An abandoned lease is given once more to the claim that had it.
    const bool over = how.kind != settle_kind::abandon;
    const auto own = over ? marks.take(how.nonce) : marks.take_mark(how.nonce);
    if (!own) continue;
    if (!believed) {
      marks.leave({own->at, own->about, how.nonce});
      continue;
    }
    if (own->at != believed->place_of(how.id)) continue;  // nobody looks there any more
    auto copy = told[i] && own->token != 0 ? copy_of(how, *told[i], waited) : std::nullopt;
    if (!copy) {
      out.push_back(release_of(how.nonce, *own));
      continue;
    }
    copy->id = own->at;
    copy->about = own->about;
    copy->nonce = how.nonce;
    copy->token = own->token;
    out.push_back(std::move(*copy));
    counters.copied.fetch_add(1, std::memory_order_relaxed);
  }
  return out;
}

}  // namespace onceguard::tiered
