// Requests that are not guarded: passed on as they come, of any size, without buffering.
#pragma once
#include <boost/asio/awaitable.hpp>

#include "gateway/session.hpp"

namespace onceguard::gateway {

/// True: the client's connection may go on with another request.
boost::asio::awaitable<bool> forward_unguarded(session& session);

}  // namespace onceguard::gateway
