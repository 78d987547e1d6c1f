// What the errors of Amazon SQS mean.
#pragma once
#include <string>

#include <onceguard/error.hpp>

#include "aws/refusal.hpp"
#include "messaging/failed_call.hpp"

namespace onceguard::messaging::sqs {

/// What it means that the server refuses. `name` is the connection's, for people.
[[nodiscard]] error refusal(const std::string& name, long status, const aws::refusal& why);

}  // namespace onceguard::messaging::sqs
