// Forwards the bytes of a connection that has switched protocols.
#pragma once
#include <boost/asio/awaitable.hpp>

#include "gateway/session.hpp"
#include "gateway/upstream_pool.hpp"

namespace onceguard::gateway {

/// After the upstream has switched protocols: sends the 101 answer that `upstream.reader` holds to
/// the client, then forwards the data of both sides until one side ends or both are silent for the
/// idle timeout, or until the gateway ends.
boost::asio::awaitable<void> tunnel(session& session, upstream_connection& upstream);

}  // namespace onceguard::gateway
