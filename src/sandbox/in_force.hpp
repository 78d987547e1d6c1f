#pragma once
#include <atomic>

namespace onceguard::sandbox {

/// Of this process, which never loses a limit.
inline std::atomic<bool> files_limited{false};
inline std::atomic<bool> calls_limited{false};

}  // namespace onceguard::sandbox
