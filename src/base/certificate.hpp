// What certificates say, and their files.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/diagnosis.hpp"

namespace onceguard::base {

/// Whether the PEM file can be read and holds certificates, and when the first of them ends. `id`:
/// of the diagnoses. `use`: of the file, for people: "CA file of the store".
[[nodiscard]] diagnosis examine_certificate(const std::string& file, std::string id,
                                            std::string_view use);
/// Whether the file of a private key can be read.
[[nodiscard]] diagnosis examine_key(const std::string& file, std::string id, std::string_view use);

/// What a client is known by that has shown a certificate: what of it counts.
enum class peer_name : std::uint8_t {
  certificate,  ///< all of it: a renewed one is another client
  uri,          ///< the one URI among its subject's alternative names: SPIFFE
  subject,      ///< its subject
};

}  // namespace onceguard::base
