// What `onceguard doctor` finds out about a DynamoDB store.
#pragma once
#include "store/registry.hpp"

namespace onceguard::dynamodb {

/// As store_kind::examine.
[[nodiscard]] base::diagnoses examine(const store_params& params, store_role role);

}  // namespace onceguard::dynamodb
