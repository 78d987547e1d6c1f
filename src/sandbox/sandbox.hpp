// What a process can't do any more once its start is over: the kernel refuses it from then on, also
// to code that somebody has smuggled in.
#pragma once
#include <string>
#include <vector>

#include <onceguard/error.hpp>

namespace onceguard::sandbox {

/// The limits of this process.
struct limits {
  bool files = false;
  bool calls = false;
};
[[nodiscard]] limits in_force() noexcept;

/// The version of Landlock that the kernel has; the error says why there is none.
[[nodiscard]] result<int> landlock_version();

/// From now on this thread, and those that it starts, write below these folders and into these
/// files alone, which exist, and run no program (landlock(7)). They read what they could read
/// before. Before there are threads.
[[nodiscard]] result<void> limit_files(const std::vector<std::string>& writable);

/// From now on no thread of this process runs a program, looks into another process, mounts, makes
/// namespaces, or changes the kernel (seccomp(2)). Such calls fail with EPERM, and are written to
/// the log of the kernel.
[[nodiscard]] result<void> limit_calls();

}  // namespace onceguard::sandbox
