// Background work, whose failures are logged, never swallowed.
#pragma once
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

namespace onceguard {

/// Runs the coroutine on the executor. If the coroutine throws, `description` names it in the log.
void spawn_background(const boost::asio::any_io_executor& executor, std::string_view description,
                      boost::asio::awaitable<void> coroutine);
inline void spawn_background(boost::asio::io_context& io, std::string_view description,
                             boost::asio::awaitable<void> coroutine) {
  spawn_background(io.get_executor(), description, std::move(coroutine));
}

}  // namespace onceguard
