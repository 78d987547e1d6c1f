// The configuration in force as JSON, for the admin API.
#pragma once
#include <string>

#include "config/settings.hpp"

namespace onceguard::cli {

/// An object with a member for each table of the file. Each value stands there as it would in the
/// file. Of URLs that may hold a password, only the scheme is shown.
[[nodiscard]] std::string effective_config(const config::settings& settings);

}  // namespace onceguard::cli
