// Starts the process that is to take this one's place, and gives it the listening sockets.
#pragma once
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>

namespace onceguard::process {

struct successor_params {
  std::vector<std::string> words;  ///< of the command line, the name of the program first
  /// Beside those of this process. One that ends with "_PID=" gets the number of the successor.
  std::vector<std::string> variables;
  std::vector<std::pair<std::string, int>> sockets;  ///< names for LISTEN_FDNAMES, and numbers
};

/// The file that a start of the program by that name runs now: it may have been replaced since this
/// process began.
[[nodiscard]] std::string program_file(const std::string& name);

/// Closes the descriptors from this number on. Async-signal-safe.
void close_from(int first) noexcept;

/// No child of this process, but of whoever takes orphans: a service manager stops a main process
/// that is not its child without waiting for it. It has the sockets and the standard streams, and
/// no other descriptor of this process. The error says why the program can't be run.
[[nodiscard]] result<pid_t> start_successor(const successor_params& params);

}  // namespace onceguard::process
