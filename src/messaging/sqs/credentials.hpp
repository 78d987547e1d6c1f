// The credentials that sign the requests, from where Amazon's tools keep them.
#pragma once
#include <string>

namespace onceguard::messaging::sqs {

/// No text for people contains any of them.
struct credentials {
  std::string key_id;
  std::string secret;
  std::string session_token;  ///< empty: none
};

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; where the first two are not set,
/// the profile AWS_PROFILE (`default`) of the file AWS_SHARED_CREDENTIALS_FILE
/// (~/.aws/credentials). The metadata services of Amazon's machines and containers are not asked.
/// Throws `failed` with errc::invalid_argument where there are none.
[[nodiscard]] credentials find_credentials();

}  // namespace onceguard::messaging::sqs
