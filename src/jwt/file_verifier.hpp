// Verifies tokens with the keys of a file, which is read again when it changes.
#pragma once
#include <memory>
#include <string>

#include <onceguard/error.hpp>
#include <onceguard/token_verifier.hpp>

#include "jwt/token.hpp"

namespace onceguard::jwt {

/// Reads the key set. The error says what is wrong with the file. A later content that can't be
/// used is logged (`file-refused`), and the keys stay. Without `rules.issuer`, either all keys name
/// their issuer or none does.
[[nodiscard]] result<std::shared_ptr<const token_verifier>> open_file_verifier(
    const std::string& keys_file, rules rules);

/// Whether every key of the file is for the tokens of one issuer; an unreadable file is not.
[[nodiscard]] bool names_issuers(const std::string& keys_file);

}  // namespace onceguard::jwt
