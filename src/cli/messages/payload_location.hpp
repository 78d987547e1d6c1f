// Where the payload of a message lies whose record needs a person.
#pragma once
#include <string>

#include <onceguard/store.hpp>

#include "config/settings.hpp"

namespace onceguard::cli::messages {

/// For people; empty: the record is of no message, or of one that needs nobody. `settings` may know
/// the subscriber.
[[nodiscard]] std::string payload_location(const record_view& seen,
                                           const config::settings& settings);

}  // namespace onceguard::cli::messages
