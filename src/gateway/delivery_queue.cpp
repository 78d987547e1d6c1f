#include "gateway/delivery_queue.hpp"

#include <exception>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "messaging/batch_publisher.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;

namespace {

constexpr std::ptrdiff_t batch_max = 64;

error delivery_refused(const std::string& why) {
  return {errc::conflict, "the queue refuses the delivery: " + why};
}

/// An exception must not end the thread: all who wait would wait for ever.
result<messaging::refusals> publish_with(messaging::batch_publisher& publisher,
                                         const std::vector<messaging::message>& batch) noexcept {
  try {
    return publisher.publish(batch);
  } catch (const std::exception& thrown) {
    return error(errc::broker_unreachable, thrown.what(), effect::unknown);
  }
}

}  // namespace

struct delivery_queue::waiting_message {
  explicit waiting_message(const asio::any_io_executor& executor) : timer(executor) {}

  messaging::message sent;
  std::optional<result<void>> outcome;  // set and read on the thread of the timer
  asio::steady_timer timer;
};

delivery_queue::~delivery_queue() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    waiting_.clear();
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

asio::awaitable<result<void>> delivery_queue::publish(messaging::message sent,
                                                      milliseconds timeout) {
  const auto one = std::make_shared<waiting_message>(co_await asio::this_coro::executor);
  one->sent = std::move(sent);
  one->timer.expires_after(timeout);
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(one);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  changed_.notify_one();
  // The outcome is posted to this thread, so it can't come between the push and the wait.
  boost::system::error_code cancelled;
  co_await one->timer.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  if (one->outcome) co_return *one->outcome;
  const std::lock_guard lock(mutex_);
  const bool was_taken = std::erase(waiting_, one) == 0;
  co_return error(errc::broker_unreachable, "the queue did not confirm the delivery in time",
                  was_taken ? effect::unknown : effect::none);
}

std::deque<delivery_queue::waiting_ptr> delivery_queue::take_batch() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
  std::deque<waiting_ptr> out;
  if (ended_) return out;
  const auto size = std::min(batch_max, std::ssize(waiting_));
  const auto end = waiting_.begin() + size;
  std::move(waiting_.begin(), end, std::back_inserter(out));
  waiting_.erase(waiting_.begin(), end);
  return out;
}

void delivery_queue::run() {
  messaging::broker_params params;
  params.url = url_;
  params.name = "onceguard gateway";
  messaging::batch_publisher publisher(std::move(params));
  while (true) {
    auto batch = take_batch();
    if (batch.empty()) return;
    std::vector<messaging::message> messages;
    for (const auto& one : batch) messages.push_back(std::move(one->sent));
    const auto done = publish_with(publisher, messages);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      result<void> outcome;
      if (!done) {
        outcome = done.error();
      } else if ((*done)[i].for_now) {
        outcome = error(errc::store_full, (*done)[i].text, effect::unknown);
      } else if (!(*done)[i].empty()) {
        outcome = delivery_refused((*done)[i].text);
      }
      const auto executor = batch[i]->timer.get_executor();
      asio::post(executor, [one = std::move(batch[i]), outcome = std::move(outcome)]() mutable {
        one->outcome = std::move(outcome);
        one->timer.cancel();
      });
    }
  }
}

delivery_queue& delivery_queues::of(const std::string& url) {
  const std::lock_guard lock(mutex_);
  return queues_.try_emplace(url, url).first->second;
}

void delivery_queues::close() {
  const std::lock_guard lock(mutex_);
  queues_.clear();
}

}  // namespace onceguard::gateway
