// What the error replies of Redis mean.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

#include "messaging/failed_call.hpp"

namespace onceguard::messaging::redis_streams {

/// What a server's error reply means. `name` is the stream's, for people.
[[nodiscard]] error refusal(const std::string& name, std::string_view reply);

}  // namespace onceguard::messaging::redis_streams
