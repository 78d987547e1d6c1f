// Scans all records of a store, on all of its servers. The result is complete or an error, also
// while parts move and servers fail.
#pragma once
#include <optional>

#include "store/redis/operator_queries.hpp"
#include "store/redis/pool.hpp"

namespace onceguard::redis {

class scan_listener {
 public:
  /// The scan begins, or begins anew: records that were reported before don't count any more.
  virtual void begin() = 0;
  virtual void take(scan_step step) = 0;

 protected:
  ~scan_listener() = default;
};

struct scan_scope {
  int state = 0;       ///< of an observed_state; 0: any
  bool heads = false;  ///< report the records; otherwise only their number
};

/// Empty: all records were reported. The arguments must outlive the coroutine.
[[nodiscard]] boost::asio::awaitable<std::optional<error>> scan_all(pool& pool, scan_scope wish,
                                                                    steady_time until,
                                                                    scan_listener& listener);

}  // namespace onceguard::redis
