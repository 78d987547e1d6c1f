// What the errors of Amazon SQS mean.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

#include "messaging/failed_call.hpp"

namespace onceguard::messaging::sqs {

/// May the same request succeed a moment later? `code`: as of refusal().
[[nodiscard]] bool is_passing(long status, std::string_view code) noexcept;

/// What it means that the server refuses. `code` is the name that Amazon gives to the error,
/// `words` are for people.
[[nodiscard]] error refusal(const std::string& name, long status, std::string_view code,
                            std::string_view words);

}  // namespace onceguard::messaging::sqs
