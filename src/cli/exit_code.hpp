// The program's exit codes. Scripts rely on them.
#pragma once

namespace onceguard::cli {

inline constexpr int exit_ok = 0;
inline constexpr int exit_failed = 1;         ///< at run time
inline constexpr int exit_usage = 2;          ///< unknown flags, missing arguments
inline constexpr int exit_configuration = 3;  ///< a wrong value in file, environment or flag
inline constexpr int exit_store = 4;          ///< the store can't be reached
inline constexpr int exit_not_found = 5;

}  // namespace onceguard::cli
