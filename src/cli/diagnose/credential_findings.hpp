// Whether callers are known by what stays the same at each of their tries. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnosis.hpp"
#include "cli/diagnose/upstream_poll.hpp"

namespace onceguard::cli::diagnose {

/// The scheme that the service asks for and that signs each request anew; empty: none was seen.
[[nodiscard]] std::string signed_scheme(const upstream_poll& seen);

/// The scope that stays the same at each try with this scheme of Authorization; empty: it is none
/// that is known to sign each request anew.
[[nodiscard]] std::string_view scope_of_scheme(std::string_view scheme);

/// The name of the session's cookie that the service sets; empty: it sets none.
[[nodiscard]] std::string cookie_of(const upstream_poll& seen);

struct credential_facts {
  std::vector<std::string> samples;  ///< values of Authorization, of tries of one caller
  std::string scheme;                ///< as signed_scheme() says
  std::string scope;                 ///< as the configuration has it
  std::vector<std::string> schemes;  ///< credential_schemes
  std::int64_t now_s = 0;
};

[[nodiscard]] base::diagnoses examine_credentials(const credential_facts& known);

}  // namespace onceguard::cli::diagnose
