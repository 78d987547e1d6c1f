// Bytes both ways, after the upstream has switched protocols.
#pragma once
#include <boost/asio/awaitable.hpp>

#include "gateway/session.hpp"
#include "gateway/upstream_pool.hpp"

namespace onceguard::gateway {

/// Sends the 101 answer that `to.reader` holds on to the client, then passes on what either side
/// sends until one ends or both are silent for the idle timeout.
boost::asio::awaitable<void> tunnel(session& session, upstream_connection& upstream);

}  // namespace onceguard::gateway
