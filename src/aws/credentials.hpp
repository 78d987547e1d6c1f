// The credentials that sign requests, from where Amazon's tools keep them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include <onceguard/error.hpp>

namespace onceguard::aws {

/// No text for people contains any of them.
struct credentials {
  std::string key_id;
  std::string secret;
  std::string session_token;                 ///< empty: none
  std::optional<std::int64_t> expires_at{};  ///< on the wall clock, in milliseconds; none: never
};

/// The value of an environment variable; empty: it is not set.
[[nodiscard]] std::string environment_value(const char* name);

/// What the environment and the shared file have.
struct kept_credentials {
  std::optional<credentials> found;
  std::string fault;          ///< why there are none
  bool may_be_served = true;  ///< false: somebody has named where they are, and that is wrong
};

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; where the first two are not set,
/// the profile AWS_PROFILE (`default`) of the file AWS_SHARED_CREDENTIALS_FILE
/// (~/.aws/credentials).
[[nodiscard]] kept_credentials find_kept_credentials();

}  // namespace onceguard::aws
