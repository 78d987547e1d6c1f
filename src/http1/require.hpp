// An assertion about our own code that stays on in release builds.
#pragma once
#include <cstdio>
#include <cstdlib>

namespace onceguard::http1 {

/// Ends the process where going on would put a wrong byte on the wire.
inline void require(bool holds, const char* description) noexcept {
  if (holds) [[likely]] {
    return;
  }
  std::fprintf(stderr, "onceguard: programmer's error: %s\n", description);
  std::abort();
}

}  // namespace onceguard::http1
