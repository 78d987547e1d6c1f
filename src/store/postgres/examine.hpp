// Examines a PostgreSQL store: its server, and what stands in front of it.
#pragma once
#include <string>

#include "base/diagnosis.hpp"
#include "store/registry.hpp"

namespace onceguard::postgres {

/// Blocks, for some `params.timeout`. Changes nothing. No text repeats the URL.
[[nodiscard]] base::diagnoses examine(const store_params& params);

}  // namespace onceguard::postgres
