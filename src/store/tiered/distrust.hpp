// What a look at both levels tells: may what was kept so far still be believed?
#pragma once
#include <optional>
#include <string_view>

#include <onceguard/store.hpp>

#include "store/epoch_metadata.hpp"

namespace onceguard::tiered {

/// What one look found.
struct findings {
  epoch_reading truth;
  accelerator_state accelerator;
};

/// What speaks against it, for the log; none: nothing. `before`: the look before this one.
[[nodiscard]] std::optional<std::string_view> reason_for_distrust(
    const findings& now, const std::optional<findings>& before);

}  // namespace onceguard::tiered
