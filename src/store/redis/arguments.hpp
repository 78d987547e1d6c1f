// Values as the scripts take them, and what is too large for them.
#pragma once
#include <optional>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "store/redis/command.hpp"

namespace onceguard::redis {

/// In milliseconds; one that is longer than 3,000 years is as good as for ever.
[[nodiscard]] decimal text_of(milliseconds length);

[[nodiscard]] std::optional<error> too_large(const subject& about);
[[nodiscard]] std::optional<error> too_large(token given);

}  // namespace onceguard::redis
