// Who is asked what became of a gateway's records: the probe of the record's route, or the query if
// the route has no probe. And the rounds of asking while the gateway runs.
#pragma once
#include <memory>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "gateway/io_thread.hpp"
#include "gateway/params/gateway_params.hpp"
#include "gateway/upstream_pool.hpp"
#include "reconcile/reconcile.hpp"

namespace onceguard::gateway {

/// Runs rounds, with pauses of `reconcile_interval`, until the gateway drains. Each finding is
/// logged. Several gateways of one store may do so at the same time: only the holder of a record's
/// lease asks about the record. `query` may be null.
boost::asio::awaitable<void> keep_reconciling(io_thread& thread, outcome_source* query);

class route_probe;

/// Immutable. Belongs to the thread of the pool, which must outlive this object.
class inquiries {
 public:
  /// `query` may be null. For a record whose route is not in `routes`, the default route is used.
  inquiries(upstream_pool& pool, const std::vector<route_params>& routes, outcome_source* query);
  ~inquiries();
  inquiries(const inquiries&) = delete;
  inquiries& operator=(const inquiries&) = delete;

  [[nodiscard]] inquiry about(const subject& subject) const;
  /// Whether there is any source.
  [[nodiscard]] bool any() const noexcept;

 private:
  [[nodiscard]] route_probe* route_of(const subject& subject) const;

  outcome_source* const query_;
  std::vector<std::unique_ptr<route_probe>> routes_;
};

}  // namespace onceguard::gateway
