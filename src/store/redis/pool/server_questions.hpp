// Asks a server for its facts over a connection that is logged in.
#pragma once
#include <boost/asio/awaitable.hpp>

#include "store/redis/pool/server_facts.hpp"
#include "store/redis/transport/connection.hpp"

namespace onceguard::redis {

/// What the user may not ask is unknown. Throws `broken` if the connection breaks.
[[nodiscard]] boost::asio::awaitable<server_facts> ask_facts(connection& connection);
/// The server's clock, in milliseconds since 1970.
[[nodiscard]] boost::asio::awaitable<std::int64_t> ask_time(connection& connection);

}  // namespace onceguard::redis
