// Claims an operation: the result is a lease or an outcome to send.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <onceguard/engine.hpp>

namespace onceguard {

/// See engine::claim().
[[nodiscard]] boost::asio::awaitable<claim_result> claim_operation(engine::state& engine,
                                                                   boost::asio::io_context& io,
                                                                   operation operation);

}  // namespace onceguard
