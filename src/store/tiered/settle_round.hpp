// What the accelerator is to be told after the truth has settled a batch. Does no I/O.
#pragma once
#include <optional>
#include <vector>

#include <onceguard/store.hpp>

#include "store/tiered/belief.hpp"
#include "store/tiered/counters.hpp"
#include "store/tiered/own_marks.hpp"

namespace onceguard::tiered {

/// `told`: by the truth, of each of `asked`. `waited`: since before it was asked; `believed`: at
/// that time. What can't be told now is left to be removed.
[[nodiscard]] std::vector<settlement> after_settles(const std::vector<settlement>& asked,
                                                    const std::vector<result<settled>>& told,
                                                    milliseconds waited,
                                                    const std::optional<belief>& believed,
                                                    own_marks& marks, tiered_counters& counters);

}  // namespace onceguard::tiered
