// Goes through all records of a store, on all of its servers: a whole answer, or an error, also
// while parts of it move and servers fail.
#pragma once
#include <optional>

#include "store/redis/operator_queries.hpp"
#include "store/redis/pool.hpp"

namespace onceguard::redis {

class scan_listener {
 public:
  /// It begins, or begins anew: what was told before counts no more.
  virtual void begin() = 0;
  virtual void take(scan_step step) = 0;

 protected:
  ~scan_listener() = default;
};

struct scan_scope {
  int state = 0;       ///< of an observed_state; 0: any
  bool heads = false;  ///< the records, else only how many
};

/// None: all were told. `of` and `to` outlive it.
[[nodiscard]] boost::asio::awaitable<std::optional<error>> scan_all(pool& pool, scan_scope wish,
                                                                    steady_time until,
                                                                    scan_listener& listener);

}  // namespace onceguard::redis
