// Runs a coroutine to its end on an io_context, and gives what it returned.
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

/// An io_context of this thread, for one call. It outlives the call, as another thread may let go
/// of it a moment later, and at the end of the call it finishes whatever else was begun on it.
class context_of_thread {
 public:
  context_of_thread() = default;
  context_of_thread(const context_of_thread&) = delete;
  context_of_thread& operator=(const context_of_thread&) = delete;
  ~context_of_thread();
  [[nodiscard]] boost::asio::io_context& get() const noexcept;
};

template <class T>
T run(boost::asio::awaitable<T> awaitable) {
  const context_of_thread own;
  return run(own.get(), std::move(awaitable));
}

}  // namespace onceguard::testing
