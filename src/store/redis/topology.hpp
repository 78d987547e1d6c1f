// Who is where: which servers are masters, and which of them has which part of the store.
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
  /// Also when it is the same as before.
  virtual void on_layout(const layout& found) = 0;
  /// Nobody could say.
  virtual void on_no_layout(const failure& why) = 0;

 protected:
  ~topology_events() = default;
};

/// Finds out, and looks again from time to time. Belongs to the thread of its io_context.
class topology {
 public:
  using steady_time = base::boot_clock::time_point;

  topology() = default;
  topology(const topology&) = delete;
  topology& operator=(const topology&) = delete;
  virtual ~topology() = default;

  virtual void begin() = 0;
  /// Something looks as if it were otherwise by now: looks again soon.
  virtual void distrust() {}
  /// A connection that was ready by then leads to who is a master still.
  [[nodiscard]] virtual steady_time vouched() const noexcept { return steady_time::max(); }
  /// Ends what is under way; the io_context is run on until that is so.
  virtual void close() {}
};

/// All arguments outlive it.
[[nodiscard]] std::unique_ptr<topology> make_topology(const connection_context& context,
                                                      const keyspace& names,
                                                      const redis_params& params,
                                                      topology_events& events);

}  // namespace onceguard::redis
