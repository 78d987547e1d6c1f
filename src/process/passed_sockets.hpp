// Listening sockets that this process was given at its start: the protocol of
// sd_listen_fds_with_names(3).
#pragma once
#include <string>
#include <vector>

#include "base/descriptor.hpp"

namespace onceguard::process {

struct passed_socket {
  std::string name;  ///< of LISTEN_FDNAMES; empty: none was given
  base::descriptor socket;
};

/// Takes LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES out of the environment, and the descriptors if
/// they are meant for this process. Before there are threads.
[[nodiscard]] std::vector<passed_socket> take_passed_sockets();

}  // namespace onceguard::process
