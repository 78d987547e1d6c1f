// What the accelerator is to be told after the truth has settled a batch. Does no I/O.
#pragma once
#include <optional>
#include <vector>

#include <onceguard/store.hpp>

#include "store/tiered/counters.hpp"
#include "store/tiered/marker_table.hpp"
#include "store/tiered/trusted_epoch.hpp"

namespace onceguard::tiered {

/// `told`: by the truth, of each of `asked`. `waited`: since before it was asked; `believed`: at
/// that time. What can't be told now is left to be removed.
[[nodiscard]] std::vector<settlement> after_settles(const std::vector<settlement>& items,
                                                    const std::vector<result<settled>>& batch,
                                                    milliseconds waited,
                                                    const std::optional<trusted_epoch>& trusted,
                                                    marker_table& marks, tiered_counters& counters);

}  // namespace onceguard::tiered
