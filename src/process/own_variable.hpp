// Variables of the environment that are meant for one process.
#pragma once
#include <cstdlib>
#include <string>

namespace onceguard::process {

/// Takes the variable out of the environment, so that nothing that this process starts has it.
/// Empty: it was not there. Before there are threads.
[[nodiscard]] inline std::string take_own_variable(const char* name) {
  const char* found = ::getenv(name);
  std::string out = found == nullptr ? "" : found;
  ::unsetenv(name);
  return out;
}

}  // namespace onceguard::process
