// Asks an upstream whether it takes this gateway for a client, and what stands before it.
#pragma once
#include "base/diagnosis.hpp"
#include "gateway/params/gateway_params.hpp"

namespace onceguard::cli {

/// Sends one HEAD, which has no effect. Finds an upstream whose certificate is refused here, one
/// that refuses the certificate of this gateway, and the signs of a proxy before the service.
[[nodiscard]] base::diagnosis talk_to_upstream(const gateway::upstream_params& upstream,
                                               const gateway::gateway_params& params);

}  // namespace onceguard::cli
