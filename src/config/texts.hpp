// Parsers for values that only the gateway has; as in config/policy/texts.hpp.
#pragma once
#include <string>
#include <string_view>

#include "config/policy/texts.hpp"

namespace onceguard::config {

/// "127.0.0.1:8080", "[::1]:8080", "localhost:0".
[[nodiscard]] result<gateway::endpoint> parse_endpoint(std::string_view text);

/// An address, or a block in CIDR notation.
[[nodiscard]] result<std::string> parse_network(std::string_view text);

}  // namespace onceguard::config
