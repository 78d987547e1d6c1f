// What is at the path of a Unix socket, before a process listens there.
#pragma once
#include <cstdint>
#include <string>

namespace onceguard::http1 {

struct socket_file {
  enum class kind : std::uint8_t {
    none,   ///< nothing
    stale,  ///< a socket that nobody listens on: its process was killed
    live,   ///< a socket that another process listens on
    other,  ///< no socket
  };
  kind found = kind::none;
  int process = 0;  ///< live: who listens there; 0: not known
};

/// Connects for a moment and sends nothing. `path` has at most the length that
/// parse_server_address() takes.
[[nodiscard]] socket_file examine_socket_file(const std::string& path);

}  // namespace onceguard::http1
