// What an Authorization field is worth for telling callers apart (RFC 9110 section 11.6.2).
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace onceguard::http {

enum class credential_kind : std::uint8_t {
  none,      ///< nothing, or a scheme without anything behind it
  stable,    ///< the same for each try of a request
  changing,  ///< it may be signed or numbered anew for each try
};

/// The word in `credential_schemes` for a value without a scheme.
inline constexpr std::string_view bare_scheme = "bare";

/// A credential is stable if its scheme is one of `schemes` (whatever the case), and if it has no
/// parameter such as a time or a signature.
[[nodiscard]] credential_kind kind_of_credential(std::string_view authorization,
                                                 std::span<const std::string> schemes);

/// The scheme as it was sent; empty: there is none, or it is no name.
[[nodiscard]] std::string_view scheme_of(std::string_view authorization);

/// A part of the credential, without its quotes: the parameter of this name, whatever its case, or,
/// if the name is a number, the part at this place between colons (`AWS KEY:SIGNATURE` has KEY at
/// 1). Of `Credential` of AWS4 and GOOG4 only what is before the date. Empty: it is missing, empty
/// or there twice, or another reader might find another one, as the parameters are no plain list.
[[nodiscard]] std::optional<std::string> find_auth_param(std::string_view authorization,
                                                         std::string_view name);

}  // namespace onceguard::http
