// A call, and its way from a coroutine to a store's worker thread and back. The caller and the
// worker share ownership, so that a caller whose time is up goes on even if the worker hangs.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "base/timer_wheel.hpp"

namespace onceguard {

class call;
class batch_queue;
class call_channel;
using call_ptr = std::shared_ptr<call>;

/// The base of the jobs that a store's worker carries out. The worker may use the members of a
/// derived class from `take` until the delivery of the call, and not afterwards.
class call : public base::deadline {
 public:
  /// The handler that resumes a waiting coroutine. Not type-erased: that would cost an allocation
  /// per call.
  using handler = boost::asio::async_result<boost::asio::use_awaitable_t<>, void()>::handler_type;

  /// For the worker: from here on the effect is no longer none. False: the caller has given up;
  /// drop the call.
  [[nodiscard]] bool take() noexcept;
  /// For the worker: did the caller give up before `take`?
  [[nodiscard]] bool dropped() const noexcept {
    return stage_.load(std::memory_order_acquire) == stage::dropped;
  }
  /// For the caller, once resumed: why the worker's results must not be read.
  [[nodiscard]] const std::optional<error>& lapse() const noexcept { return lapse_; }
  [[nodiscard]] const std::shared_ptr<call_channel>& channel() const noexcept { return channel_; }

 private:
  friend class call_channel;
  enum class stage : std::uint8_t { queued, taken, dropped };

  void expired() override;

  std::atomic<stage> stage_{stage::queued};
  // The members below belong to the thread that runs the caller's io_context.
  std::shared_ptr<call_channel> channel_;
  std::size_t index_ = 0;  // among the channel's waiting calls
  std::optional<handler> handler_;
  std::optional<error> lapse_;
};

/// The call channel of one io_context, which one thread runs. Collects the calls of one turn of the
/// loop, so that a worker is locked and woken once for all of them, and resumes the callers of a
/// whole batch by one post. Outlives its io_context if a worker still holds calls.
class call_channel : public std::enable_shared_from_this<call_channel> {
 public:
  using work_guard = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;

  explicit call_channel(boost::asio::io_context& context) : context_(&context) {}
  [[nodiscard]] static std::shared_ptr<call_channel> of(boost::asio::io_context& context);

  /// I/O thread: sends the call to the queue. `done` is called once, never from within.
  void begin(const call_ptr& begun, const std::shared_ptr<batch_queue>& queue, milliseconds timeout,
             call::handler done);
  /// Any thread: these calls have their results. Empties `finished`.
  void deliver(std::vector<call_ptr>& finished);
  /// The io_context ends: waiting callers are never resumed.
  void close() noexcept;

 private:
  friend class call;
  struct bound {
    std::shared_ptr<batch_queue> queue;
    std::vector<call_ptr> calls;
  };

  void flush();
  void drain();
  void answer(call& waiting);

  // used by the I/O thread only
  boost::asio::io_context* context_;
  std::vector<call_ptr> waiting_;
  std::vector<bound> outbound_;
  std::vector<call_ptr> resuming_;
  bool flush_posted_ = false;
  std::optional<work_guard> work_;

  std::mutex mutex_;  // guards the members below
  bool closed_ = false;
  std::vector<call_ptr> finished_;
};

/// Sends a call to a queue, and suspends until the call is delivered or its time is up.
[[nodiscard]] inline boost::asio::awaitable<void> perform(call_ptr begun,
                                                          std::shared_ptr<batch_queue> queue,
                                                          milliseconds timeout) {
  auto begin = [](call::handler done, const call_ptr& sent,
                  const std::shared_ptr<batch_queue>& shared, milliseconds within) {
    const auto executor = boost::asio::get_associated_executor(done);
    auto& context = static_cast<boost::asio::io_context&>(
        boost::asio::query(executor, boost::asio::execution::context));
    call_channel::of(context)->begin(sent, shared, within, std::move(done));
  };
  return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void()>(
      begin, boost::asio::use_awaitable, std::move(begun), std::move(queue), timeout);
}

/// Performs a call that has one outcome, and returns that outcome.
template <class Question>
[[nodiscard]] auto ask(std::shared_ptr<batch_queue> queue, std::shared_ptr<Question> shared,
                       milliseconds timeout)
    -> boost::asio::awaitable<decltype(shared->outcome())> {
  co_await perform(shared, std::move(queue), timeout);
  co_return shared->outcome();
}

/// Delivers the calls of a batch, with one post per io_context. Empties `finished`.
void deliver_all(std::vector<call_ptr>& finished);

}  // namespace onceguard
