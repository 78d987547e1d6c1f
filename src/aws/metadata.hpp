// The credentials that Amazon's machines and containers serve to the programs in them.
#pragma once
#include <string>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "aws/credentials.hpp"

namespace onceguard::aws {

/// Asks the container's service where AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI names it
/// (with the token of AWS_CONTAINER_AUTHORIZATION_TOKEN or _TOKEN_FILE), else the machine's
/// metadata service, version 2: a token, the role, its credentials. AWS_EC2_METADATA_DISABLED=true
/// forbids the latter, AWS_EC2_METADATA_SERVICE_ENDPOINT names another address. Blocks; each of the
/// requests takes `timeout` at most. errc::store_unreachable: there is no such service, or it has
/// none; no text contains a secret.
[[nodiscard]] result<credentials> fetch_served_credentials(milliseconds timeout);

}  // namespace onceguard::aws
