// The address of a server: host and port.
#pragma once
#include <compare>
#include <string>

namespace onceguard::redis {

struct endpoint {
  std::string host;
  std::string port;

  friend auto operator<=>(const endpoint&, const endpoint&) = default;
  /// "host:port", "[::1]:port"
  [[nodiscard]] std::string text() const {
    const bool v6 = host.find(':') != std::string::npos;
    return (v6 ? "[" + host + "]" : host) + ":" + port;
  }
};

}  // namespace onceguard::redis
