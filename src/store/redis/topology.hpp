// The servers that are masters, and which of them has which part of the store.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "store/redis/connection.hpp"
#include "store/redis/keyspace.hpp"
#include "store/redis/redis_params.hpp"

namespace onceguard::redis {

struct layout {
  struct master {
    endpoint at;
    std::string id;  ///< in a cluster
  };
  std::vector<master> masters;                    ///< those that have parts
  std::vector<std::optional<std::size_t>> owner;  ///< of each part, one of the masters
  std::string ids;  ///< of all that are masters now, also of those without a part, by commas
};

class topology_events {
 public:
  /// A layout was found, which may be the same as before.
  virtual void on_layout(const layout& found) = 0;
  /// No server could report the layout.
  virtual void on_no_layout(const failure& why) = 0;

 protected:
  ~topology_events() = default;
};

/// Finds out the layout, and polls it from time to time. Belongs to the thread of its io_context.
class topology {
 public:
  using steady_time = base::boot_clock::time_point;

  topology() = default;
  topology(const topology&) = delete;
  topology& operator=(const topology&) = delete;
  virtual ~topology() = default;

  virtual void begin() = 0;
  /// The layout may have changed: it is polled soon.
  virtual void distrust() {}
  /// A connection that was ready before this time leads to a server that is still a master.
  [[nodiscard]] virtual steady_time vouched() const noexcept { return steady_time::max(); }
  /// Ends the running operations. The io_context must run until they have ended.
  virtual void close() {}
};

/// All arguments must outlive the topology.
[[nodiscard]] std::unique_ptr<topology> make_topology(const connection_context& context,
                                                      const keyspace& names,
                                                      const redis_params& params,
                                                      topology_events& events);

}  // namespace onceguard::redis
