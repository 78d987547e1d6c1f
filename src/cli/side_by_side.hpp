// Runs several coroutines concurrently, for work that mostly waits for a store.
#pragma once
#include <cstddef>
#include <exception>
#include <functional>

#include <boost/asio/awaitable.hpp>

namespace onceguard::cli {

/// Calls `work` `count` times and returns after all coroutines have ended. Rethrows the first
/// exception.
[[nodiscard]] boost::asio::awaitable<void> side_by_side(
    std::size_t count, std::function<boost::asio::awaitable<void>()> work);

}  // namespace onceguard::cli
