// Runs a coroutine to its end on an io_context of its own, and gives what it returned.
#pragma once
#include <exception>
#include <optional>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

namespace onceguard::testing {

/// Throws what the coroutine threw, and std::logic_error if it was left waiting for ever.
template <class T>
T run(boost::asio::io_context& context, boost::asio::awaitable<T> what) {
  std::optional<T> out;
  std::exception_ptr thrown;
  auto finish = [&](std::exception_ptr failed, T value) {
    thrown = failed;
    if (!failed) out.emplace(std::move(value));
  };
  boost::asio::co_spawn(context, std::move(what), finish);
  context.restart();
  while (!out && !thrown && context.run_one() != 0) {
  }
  if (thrown) std::rethrow_exception(thrown);
  if (!out) throw std::logic_error("the coroutine waits for something that never comes");
  return std::move(*out);
}

template <class T>
T run(boost::asio::awaitable<T> what) {
  boost::asio::io_context context;
  return run(context, std::move(what));
}

}  // namespace onceguard::testing
