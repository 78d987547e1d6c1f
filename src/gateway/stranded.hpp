// Live records that a new configuration does not know again.
#pragma once
#include <boost/asio/awaitable.hpp>

#include "gateway/io_thread.hpp"

namespace onceguard::gateway {

/// Looks through the store's oldest records, a bounded number of them, and logs how many stand
/// under a scope that their route has no more (`scope-changed`), and how many were made for an
/// upstream that `before` knew by another identity (`upstream-renamed`). A retry of those runs
/// again, or is refused. `before` may be null: at the start. Ends early when the routing changes.
boost::asio::awaitable<void> report_stranded(io_thread& thread, routing_ptr before);

}  // namespace onceguard::gateway
