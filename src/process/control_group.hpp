// A control group (cgroup v2) for all processes that come of a command. Its end reaches those too
// that are nobody's children any more, or another user's. Where the system has no such groups, or
// this process may not divide its own, the command runs without.
#pragma once
#include <optional>
#include <string>

#include "base/descriptor.hpp"

namespace onceguard::process {

/// A group that was made for one command, below the one of this process.
struct control_group {
  std::string folder;
  base::descriptor open;  ///< the folder, for whoever is started in it
};

/// Makes an empty group. Nullopt: there is none to be had. First removes the empty groups beside it
/// whose makers are gone.
[[nodiscard]] std::optional<control_group> make_control_group();

// The following may run between fork and exec: they allocate nothing.

/// Kills all processes of the group and of those below it, and removes it. Waits for their end, but
/// not for ever.
void end_control_group(const char* folder) noexcept;
/// Waits until nothing runs in the group, and removes it.
void outlive_control_group(const char* folder) noexcept;

}  // namespace onceguard::process
