// Which server has a stream: the one of the URL, the master that the sentinels name, or the node of
// a cluster that the stream's slot is at.
#pragma once
#include <memory>

#include "messaging/redis_streams/server_connection.hpp"
#include "messaging/redis_streams/stream_url.hpp"

namespace onceguard::messaging::redis_streams {

/// A connection to it. Throws `failed`, whose text does not name the stream.
[[nodiscard]] std::unique_ptr<server_connection> connect_to_stream(const stream_address& where,
                                                                   moment until);

}  // namespace onceguard::messaging::redis_streams
