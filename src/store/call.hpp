// A call on its way from a coroutine to a store's worker thread and back. The caller and the
// worker own it together, so that a caller whose time is up goes on although the worker hangs.
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

/// The base of what a store's worker carries out. The worker may touch what a derived class adds
/// from `take` until it delivers the call, and nothing afterwards.
class call : public base::deadline {
 public:
  /// What resumes an awaiting coroutine. Not type-erased: it would cost an allocation per call.
  using handler = boost::asio::async_result<boost::asio::use_awaitable_t<>, void()>::handler_type;

  /// Worker: from here on the effect is no longer none. False: the caller has given up; drop it.
  [[nodiscard]] bool take() noexcept;
  /// Worker: has the caller given up before it was taken?
  [[nodiscard]] bool dropped() const noexcept {
    return stage_.load(std::memory_order_acquire) == stage::dropped;
  }
  /// Caller, once resumed: why the worker's results are not to be looked at.
  [[nodiscard]] const std::optional<error>& lapse() const noexcept { return lapse_; }
  [[nodiscard]] const std::shared_ptr<call_channel>& channel() const noexcept { return channel_; }

 private:
  friend class call_channel;
  enum class stage : std::uint8_t { queued, taken, dropped };

  void expired() override;

  std::atomic<stage> stage_{stage::queued};
  // All else belongs to the thread that runs the caller's io_context.
  std::shared_ptr<call_channel> channel_;
  std::size_t index_ = 0;  // among the lane's waiting calls
  std::optional<handler> handler_;
  std::optional<error> lapse_;
};

/// The way in and out of one io_context, which one thread runs: collects the calls of one turn of
/// its loop, so that a worker is locked and woken once for all of them, and resumes the callers
/// of a whole batch by one post. Outlives its io_context if a worker still holds calls.
class call_channel : public std::enable_shared_from_this<call_channel> {
 public:
  using work_guard = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;

  explicit call_channel(boost::asio::io_context& context) : context_(&context) {}
  [[nodiscard]] static std::shared_ptr<call_channel> of(boost::asio::io_context& context);

  /// I/O thread: sends the call on its way; `done` is called once, never from within.
  void begin(const call_ptr& begun, const std::shared_ptr<batch_queue>& queue, milliseconds timeout,
             call::handler done);
  /// Any thread: these calls have their results. Takes all of them.
  void deliver(std::vector<call_ptr>& finished);
  /// The io_context ends: what waits is never resumed.
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

  // I/O thread only
  boost::asio::io_context* context_;
  std::vector<call_ptr> waiting_;
  std::vector<bound> outbound_;
  std::vector<call_ptr> resuming_;
  bool flush_posted_ = false;
  std::optional<work_guard> work_;

  std::mutex mutex_;  // guards what follows
  bool closed_ = false;
  std::vector<call_ptr> finished_;
};

/// Sends a call to a queue and suspends until it is delivered or its time is up.
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

/// Performs a call that has one outcome, and gives that.
template <class Question>
[[nodiscard]] auto ask(std::shared_ptr<batch_queue> queue, std::shared_ptr<Question> shared,
                       milliseconds timeout)
    -> boost::asio::awaitable<decltype(shared->outcome())> {
  co_await perform(shared, std::move(queue), timeout);
  co_return shared->outcome();
}

/// Hands a batch back, one post per io_context. Empties `finished`.
void deliver_all(std::vector<call_ptr>& finished);

}  // namespace onceguard
