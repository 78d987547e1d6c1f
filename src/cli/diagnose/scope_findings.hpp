// Examines what the gateway that runs here has counted.
#pragma once
#include "base/diagnosis.hpp"
#include "gateway/params/admin_params.hpp"

namespace onceguard::cli::diagnose {

/// Whether operations came again under another scope, as whoever answers at the admin listener has
/// counted them.
[[nodiscard]] base::diagnosis examine_other_scopes(const admin::admin_params& params);

}  // namespace onceguard::cli::diagnose
