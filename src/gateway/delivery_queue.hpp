// Publishes the deliveries of webhooks to queues, from where they are worked on.
#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <boost/asio/awaitable.hpp>

#include <onceguard/broker.hpp>

namespace onceguard::gateway {

/// One queue, with a connection and a thread of its own from the first message on. Thread-safe but
/// for the destructor.
class delivery_queue {
 public:
  explicit delivery_queue(std::string url) : url_(std::move(url)) {}
  delivery_queue(const delivery_queue&) = delete;
  delivery_queue& operator=(const delivery_queue&) = delete;
  /// Waits for the message that is being published. The io_contexts of all waiting coroutines must
  /// have stopped, and must still exist.
  ~delivery_queue();

  /// Success: the broker has confirmed that the message is stored. An error with
  /// effect::unknown: it may be stored. It shall be published again under its id. errc::conflict:
  /// the broker refuses the message; errc::broker_unreachable, errc::store_full: its queue can't be
  /// reached, or takes nothing now.
  boost::asio::awaitable<result<void>> publish(messaging::message sent, milliseconds timeout);

 private:
  struct waiting_message;
  using waiting_ptr = std::shared_ptr<waiting_message>;

  void run();
  [[nodiscard]] std::deque<waiting_ptr> take_batch();

  const std::string url_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<waiting_ptr> waiting_;
  bool ended_ = false;
  std::thread thread_;
};

/// The queues of a gateway, by URL. Thread-safe.
class delivery_queues {
 public:
  [[nodiscard]] delivery_queue& of(const std::string& url);
  /// See ~delivery_queue.
  void close();

 private:
  std::mutex mutex_;
  std::map<std::string, delivery_queue> queues_;
};

}  // namespace onceguard::gateway
