// Values in the form that the scripts accept, and checks for values that are too large.
#pragma once
#include <optional>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "store/redis/command.hpp"

namespace onceguard::redis {

/// In milliseconds. A length above 3,000 years is cut to 3,000 years.
[[nodiscard]] decimal text_of(milliseconds length);

[[nodiscard]] std::optional<error> too_large(const subject& about);
[[nodiscard]] std::optional<error> too_large(token given);

}  // namespace onceguard::redis
