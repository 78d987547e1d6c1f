// Forwards requests that are not guarded: as they arrive, of any size, without buffering.
#pragma once
#include <boost/asio/awaitable.hpp>

#include "gateway/session.hpp"

namespace onceguard::gateway {

/// True: the client's connection may be used for another request.
boost::asio::awaitable<bool> forward_unguarded(session& session);

}  // namespace onceguard::gateway
