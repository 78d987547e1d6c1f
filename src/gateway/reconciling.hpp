// Runs reconcile on a schedule while the gateway runs.
#pragma once
#include <boost/asio/awaitable.hpp>

#include "reconcile/reconcile.hpp"
#include "gateway/io_thread.hpp"

namespace onceguard::gateway {

/// Runs rounds, with pauses of `reconcile_interval`, until the gateway drains. Each finding is
/// logged. Several gateways of one store may do so at the same time: only the holder of a record's
/// lease asks about the record. `query` may be null.
boost::asio::awaitable<void> keep_reconciling(io_thread& thread, outcome_source* query);

}  // namespace onceguard::gateway
