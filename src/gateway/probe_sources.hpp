// Where it can be asked what became of a gateway's records: each by the probe of its route, and
// where that has none, by the query.
#pragma once
#include <memory>
#include <vector>

#include "reconcile/reconcile.hpp"
#include "gateway/params.hpp"
#include "gateway/upstream_pool.hpp"

namespace onceguard::gateway {

class route_probe;

/// Immutable once made. Belongs to the thread of the pool, which must outlive it.
class inquiries {
 public:
  /// `query` may be null. A record of a route that is not among these counts as the last resort's.
  inquiries(upstream_pool& pool, const std::vector<route_params>& routes, outcome_source* query);
  ~inquiries();
  inquiries(const inquiries&) = delete;
  inquiries& operator=(const inquiries&) = delete;

  [[nodiscard]] inquiry about(const subject& subject) const;
  /// Is there anybody to ask at all?
  [[nodiscard]] bool any() const noexcept;

 private:
  [[nodiscard]] route_probe* route_of(const subject& subject) const;

  outcome_source* const query_;
  std::vector<std::unique_ptr<route_probe>> routes_;
};

}  // namespace onceguard::gateway
