// The way of one request: reads it, claims, runs, settles and answers.
#pragma once
#include <boost/asio/awaitable.hpp>

#include "gateway/session.hpp"

namespace onceguard::gateway {

/// Serves the request whose head the session's reader holds. True: the client's connection may be
/// used for another request.
boost::asio::awaitable<bool> serve_request(session& client);

}  // namespace onceguard::gateway
