// The proxy between a client on this process's standard streams and a server that it starts.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/guard.hpp>

#include "mcp/mcp_params.hpp"

namespace onceguard::mcp {

/// Called with lines for people.
using complaint_taker = std::function<void(const std::string&)>;

class stdio_session;

class stdio_proxy {
 public:
  /// `command` is the server. `records` must outlive the proxy.
  stdio_proxy(guard& records, mcp_params params, std::vector<std::string> command,
              complaint_taker complain);
  ~stdio_proxy();

  /// Runs until client or server ends; blocks. Returns the server's exit code; the error says why
  /// the server did not start.
  [[nodiscard]] result<int> run();
  /// As if the client had ended. From any thread.
  void stop();

 private:
  std::unique_ptr<stdio_session> session_;
};

}  // namespace onceguard::mcp
