// Runs a coroutine to its end on the calling thread.
#pragma once
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/timer_wheel.hpp"

namespace onceguard {

/// Each thread has one loop, which runs only in here. A store resumes the coroutine on that loop,
/// so a call that needs no waiting (a memory store, a replay) needs no other thread either.
template <class T>
T run_here(boost::asio::awaitable<T> call) {
  thread_local boost::asio::io_context loop(1);
  std::optional<T> value;
  std::exception_ptr thrown;
  bool done = false;
  boost::asio::co_spawn(loop, std::move(call), [&](std::exception_ptr failure, T made) {
    thrown = std::move(failure);
    value.emplace(std::move(made));
    done = true;
  });
  loop.restart();
  while (!done) loop.run_one();
  // Whatever else the call has begun here comes to its end, but for the last tick of the timers,
  // for which nobody waits.
  base::timer_wheel::of(loop).rest();
  loop.run();
  if (thrown) std::rethrow_exception(thrown);
  return std::move(*value);
}

}  // namespace onceguard
