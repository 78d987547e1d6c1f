// The configuration in force, for the admin API, and when the certificates that it names end.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "config/settings.hpp"

namespace onceguard::cli::services {

/// An object with a member for each table of the file. Each value stands there as it would in the
/// file. Of URLs that may hold a password, only the scheme is shown.
[[nodiscard]] std::string effective_config(const config::settings& settings);

/// What a reload changes, for people: `[[route]] "/charges" lease: "30s" -> "45s"; …`. The first
/// changes alone, and how many more there are; "nothing" where there are none.
[[nodiscard]] std::string changed_settings(const config::settings& before,
                                           const config::settings& after);

/// The routes with the policy of each, and where each value comes from: also without secrets.
[[nodiscard]] std::string effective_routes(const config::settings& settings);

/// The PEM files of the listener and of the upstreams, and when the first certificate of each ends,
/// in seconds since 1970. A file that can't be read has no entry.
[[nodiscard]] std::vector<std::pair<std::string, long long>> certificate_ends(
    const config::settings& settings);

}  // namespace onceguard::cli::services
