// What a process knows of the database's memory. A memory that lacks something of this is another
// one, or an older copy.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "base/clock.hpp"
#include "libpq/binary_format.hpp"

namespace onceguard::postgres {

struct known_memory {
  struct lease_count {
    std::int64_t leases = 0;  ///< batches of leases that the connection was granted
    base::boot_clock::time_point granted_at{};
  };

  std::string identity;    ///< empty: nothing is known yet
  std::int64_t floor = 0;  ///< of the tokens; only grows
  std::map<std::int64_t, lease_count> counts;

  /// The memory has another identity now, or the same one and a higher floor.
  void learn(const std::string& identity_now, std::int64_t floor_now) {
    if (identity_now != identity) *this = {identity_now, 0, {}};
    floor = std::max(floor, floor_now);
  }
  void count(std::int64_t connection, std::int64_t leases) {
    counts[connection] = {std::max(leases_of(connection), leases), base::boot_now()};
  }
  [[nodiscard]] std::int64_t leases_of(std::int64_t connection) const {
    const auto found = counts.find(connection);
    return found == counts.end() || !is_recent(found->second) ? 0 : found->second.leases;
  }

  /// Appends identity, floor, connections and their leases.
  void write(parameters& out) const {
    if (identity.empty()) {
      out.null().null().null().null();
      return;
    }
    array_value connections(type::int8);
    array_value leases(type::int8);
    for (const auto& [connection, each] : counts) {
      if (!is_recent(each)) continue;
      connections.int8(connection);
      leases.int8(each.leases);
    }
    out.bytes(identity).int8(floor).array(connections).array(leases);
  }

 private:
  /// The database stops counting for connections that were not used while the floor was raised 120
  /// times, each minute at most. By then the floor shows a copy from before.
  [[nodiscard]] static bool is_recent(const lease_count& each) {
    return each.granted_at >= base::boot_now() - std::chrono::hours(1);
  }
};

}  // namespace onceguard::postgres
