// The proxy in front of a server on streamable HTTP: an endpoint of its own, for any number of
// clients.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include <onceguard/error.hpp>
#include <onceguard/guard.hpp>

#include "mcp/mcp_params.hpp"

namespace onceguard::mcp {

struct http_proxy_params {
  mcp_params calls;
  std::string host;  ///< to listen on: an IP address
  std::uint16_t port = 0;
  /// http://HOST[:PORT]/PATH or https://…. Requests keep their path; those for "/" get this one.
  std::string upstream;
};

class http_proxy {
 public:
  /// `records` must outlive it. `complain` is called with lines for people.
  http_proxy(guard& records, http_proxy_params params,
             std::function<void(const std::string&)> complain);
  ~http_proxy();

  /// Listens. Returns the port; errc::invalid_argument: the addresses can't be used.
  [[nodiscard]] result<std::uint16_t> listen();
  /// Serves until a stop is requested and the calls that run have ended; blocks.
  void run();
  /// From any thread. A second call ends the calls that still run, with their outcomes unknown.
  void stop();

 private:
  class listener;
  std::unique_ptr<listener> listener_;
};

}  // namespace onceguard::mcp
