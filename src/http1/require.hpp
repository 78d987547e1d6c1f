// An assertion about this program's own code that stays enabled in release builds.
#pragma once
#include <cstdio>
#include <cstdlib>

namespace onceguard::http1 {

/// Ends the process if continuing would send a wrong byte.
inline void require(bool holds, const char* description) noexcept {
  if (holds) [[likely]] {
    return;
  }
  std::fprintf(stderr, "onceguard: programmer's error: %s\n", description);
  std::abort();
}

}  // namespace onceguard::http1
