// Examines a Redis store: its servers and their settings.
#pragma once
#include "base/diagnosis.hpp"
#include "store/registry.hpp"

namespace onceguard::redis {

/// Blocks, for some `params.timeout`. Of the settings of several servers (sentinels, a cluster)
/// only those are known that weaken the promises of all. No text repeats the URL.
[[nodiscard]] base::diagnoses examine(const store_params& params, store_role role);

}  // namespace onceguard::redis
