// A lease that this process got, as its settle needs it.
#pragma once
#include <string>

#include "base/clock.hpp"
#include "store/lease_cache.hpp"
#include "store/redis/commands/stored.hpp"

namespace onceguard::redis {

/// A record as this process has written it.
struct cached_lease {
  stored_record stored;
  std::string begins;  ///< as a swap takes it
  base::boot_clock::time_point read_at = base::boot_now();

  /// The server's clock now, as far as this process can know.
  [[nodiscard]] stamp now() const {
    const auto since =
        std::chrono::duration_cast<std::chrono::microseconds>(base::boot_now() - read_at);
    return stored.last + static_cast<stamp>(since.count());
  }
};

using lease_cache = onceguard::lease_cache<cached_lease>;

}  // namespace onceguard::redis
