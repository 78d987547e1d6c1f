// When the certificates that the configuration names end.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "config/settings.hpp"

namespace onceguard::cli {

/// The PEM files of the listener and of the upstreams, and when the first certificate of each ends,
/// in seconds since 1970. A file that can't be read has no entry.
[[nodiscard]] std::vector<std::pair<std::string, long long>> certificate_ends(
    const config::settings& settings);

}  // namespace onceguard::cli
