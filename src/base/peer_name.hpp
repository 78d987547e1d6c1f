// What a client is known by that has shown a certificate.
#pragma once
#include <cstdint>

namespace onceguard::base {

/// What of the certificate counts.
enum class peer_name : std::uint8_t {
  certificate,  ///< all of it: a renewed one is another client
  uri,          ///< the one URI among its subject's alternative names: SPIFFE
  subject,      ///< its subject
};

}  // namespace onceguard::base
