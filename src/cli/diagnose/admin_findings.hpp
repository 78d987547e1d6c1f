// Examines the admin listener, and what the gateway that runs here has counted.
#pragma once
#include "base/diagnosis.hpp"
#include "gateway/params/admin_params.hpp"

namespace onceguard::cli::diagnose {

/// Whether the listener can be had, with the rights of its socket and the file of its tokens. Where
/// a process listens already, it is asked whether operations came again under another scope.
[[nodiscard]] base::diagnoses examine_admin(const admin::admin_params& params);

}  // namespace onceguard::cli::diagnose
