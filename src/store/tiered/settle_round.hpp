// The settles for the accelerator after the truth has settled a batch. Does no I/O.
#pragma once
#include <optional>
#include <vector>

#include <onceguard/store.hpp>

#include "store/tiered/circuit_breaker.hpp"
#include "store/tiered/marker_table.hpp"

namespace onceguard::tiered {

/// `batch`: the truth's reply to each of `items`. `waited`: the time since before they were sent.
/// `trusted`: the epoch at that time. A marker that can't be settled now is removed later.
[[nodiscard]] std::vector<settlement> settles_for_accelerator(
    const std::vector<settlement>& items, const std::vector<result<settled>>& batch,
    milliseconds waited, const std::optional<trusted_epoch>& trusted, marker_table& markers,
    tiered_counters& counters);

}  // namespace onceguard::tiered
