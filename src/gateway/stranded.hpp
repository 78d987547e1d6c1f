// Reports live records that requests no longer find under a new configuration.
#pragma once
#include <boost/asio/awaitable.hpp>

#include "gateway/io_thread.hpp"

namespace onceguard::gateway {

/// Reads a bounded number of the store's oldest records. Logs how many are under a scope that their
/// route no longer uses (`scope-changed`), and how many were made for an upstream that had another
/// identity in `before` (`upstream-renamed`). A retry of such an operation runs again, or is
/// refused. `before` is null at the start. Ends early when the routing changes.
boost::asio::awaitable<void> report_stranded(io_thread& thread, routing_ptr before);

}  // namespace onceguard::gateway
