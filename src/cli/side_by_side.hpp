// Several coroutines at a time, for work that mostly waits for a store.
#pragma once
#include <cstddef>
#include <exception>
#include <functional>

#include <boost/asio/awaitable.hpp>

namespace onceguard::cli {

/// Calls `work` so many times and comes back once all of that has ended. What was thrown first is
/// thrown on then.
[[nodiscard]] boost::asio::awaitable<void> side_by_side(
    std::size_t count, std::function<boost::asio::awaitable<void>()> work);

}  // namespace onceguard::cli
