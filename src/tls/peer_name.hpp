// What a client is known by that has shown a certificate.
#pragma once
#include <string>

#include "base/certificate.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): the name that OpenSSL has
using X509 = struct x509_st;

namespace onceguard::tls {

using base::peer_name;

/// SHA-256 of the certificate in hex; "uri:…" or "subject:…" where that is wanted. A certificate
/// that has no such name, or several, is known by itself.
[[nodiscard]] std::string name_of_peer(const X509& shown, peer_name wanted);

}  // namespace onceguard::tls
