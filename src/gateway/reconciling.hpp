// Reconciling on a schedule, while the gateway runs.
#pragma once
#include <boost/asio/awaitable.hpp>

#include "reconcile/reconcile.hpp"
#include "gateway/io_thread.hpp"

namespace onceguard::gateway {

/// One round after the other, with `reconcile_interval` in between, until the gateway drains; what
/// was found about each record is logged. Several gateways of one store may do so at the same time:
/// who has the lease of a record asks about it. `query` may be null.
boost::asio::awaitable<void> keep_reconciling(io_thread& thread, outcome_source* query);

}  // namespace onceguard::gateway
