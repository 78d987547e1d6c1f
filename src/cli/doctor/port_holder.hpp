// Finds the process that listens on a TCP port of this machine, and names processes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace onceguard::cli {

struct port_holder {
  int process = 0;
  std::string program;  ///< the name that the system shows
  bool same = false;    ///< it is this program
};
/// None: nobody, or a process of another user, whose files this one may not see.
[[nodiscard]] std::optional<port_holder> find_port_holder(std::uint16_t port);
/// The same about a process that is known.
[[nodiscard]] port_holder describe_holder(int process);

}  // namespace onceguard::cli
