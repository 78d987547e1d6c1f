// What a message brings to a coroutine that waits for it.
#pragma once
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <onceguard/record.hpp>

namespace onceguard::sim {

template <class Value>
struct mailbox {
  explicit mailbox(const boost::asio::any_io_executor& executor) : timer(executor) {}

  /// The process may have ended meanwhile.
  static void put(const std::weak_ptr<mailbox>& box, Value value) {
    const auto found = box.lock();
    if (!found || found->content) return;
    found->content.emplace(std::move(value));
    found->timer.cancel();
  }
  boost::asio::awaitable<void> wait(milliseconds most) {
    timer.expires_after(most);
    boost::system::error_code cancelled;
    auto quietly = boost::asio::redirect_error(boost::asio::use_awaitable, cancelled);
    co_await timer.async_wait(quietly);
  }

  boost::asio::steady_timer timer;
  std::optional<Value> content;
};

}  // namespace onceguard::sim
