// Looks at files of certificates and keys.
#pragma once
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

}  // namespace onceguard::base
