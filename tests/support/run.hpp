// Runs a coroutine to its end on an io_context of its own, and gives what it returned.
#pragma once
#include <optional>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

namespace onceguard::testing {

/// Throws what the coroutine threw, and std::logic_error if it was left waiting for ever.
void run_to_its_end(boost::asio::io_context& context, boost::asio::awaitable<void> awaitable);

/// The same for one that returns something.
template <class T>
T run(boost::asio::io_context& context, boost::asio::awaitable<T> value) {
  std::optional<T> out;
  const auto keep = [&]() -> boost::asio::awaitable<void> {
    out.emplace(co_await std::move(value));
  };
  run_to_its_end(context, keep());
  return std::move(*out);
}

template <class T>
T run(boost::asio::awaitable<T> awaitable) {
  boost::asio::io_context context;
  return run(context, std::move(awaitable));
}

}  // namespace onceguard::testing
