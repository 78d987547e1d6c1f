// The URL of a server on streamable HTTP.
#pragma once
#include <string>

#include <onceguard/error.hpp>

namespace onceguard::mcp {

/// Where the server is.
struct server_address {
  bool tls = false;
  std::string host;
  std::string port;
  std::string target;     ///< path and query
  std::string authority;  ///< for the header Host
};
[[nodiscard]] result<server_address> read_server_url(const std::string& url);

}  // namespace onceguard::mcp
