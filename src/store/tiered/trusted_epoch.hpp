// What may be believed of the accelerator at one moment, and where its copies are found then.
#pragma once
#include <string>

#include <onceguard/decide.hpp>

#include "base/hash.hpp"
#include "store/epoch_metadata.hpp"

namespace onceguard::tiered {

/// Of everything on which the copies depend. Where one of these is another, none is found.
[[nodiscard]] inline digest epoch_in_use(const epoch_reading& truth,
                                         const std::string& accelerator) {
  return base::sha256().part(truth.epoch).part(truth.origin).part(accelerator).finish();
}

struct trusted_epoch {
  digest epoch{};
  /// False: only what is completed counts, as nobody knows what goes on elsewhere.
  bool busy = true;

  /// Under which id the accelerator has the copy of a record, or the marker of a claim.
  [[nodiscard]] record_id slot_of(const record_id& id) const {
    return base::sha256().part(base::as_chars(epoch)).part(base::as_chars(id)).finish();
  }
};

/// Of a subject, what the accelerator needs: nothing that tells whose key it is.
[[nodiscard]] inline subject_ptr bare(const subject_ptr& about) {
  if (!about) return nullptr;
  auto out = std::make_shared<subject>();
  out->print = about->print;
  return out;
}

}  // namespace onceguard::tiered
