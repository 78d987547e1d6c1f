#include "store/worker_call.hpp"

#include <algorithm>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include "store/batch_queue.hpp"

namespace onceguard {
namespace {

constexpr std::size_t worth_a_batch = 16;

/// Ties a call channel to its io_context.
class channel_service final : public boost::asio::execution_context::service {
 public:
  static inline boost::asio::execution_context::id id;
  explicit channel_service(boost::asio::io_context& context)
      : boost::asio::execution_context::service(context),
        channel_(std::make_shared<call_channel>(context)) {
    // The deadlines of the channel's calls need the timer wheel until the channel has closed.
    base::timer_wheel::of(context);
  }
  [[nodiscard]] const std::shared_ptr<call_channel>& channel() const noexcept { return channel_; }

 private:
  void shutdown() noexcept override { channel_->close(); }
  std::shared_ptr<call_channel> channel_;
};

}  // namespace

bool call::take() noexcept {
  auto expected = stage::queued;
  return stage_.compare_exchange_strong(expected, stage::taken, std::memory_order_acq_rel) ||
         expected == stage::taken;
}

void call::expired() {
  auto expected = stage::queued;
  const bool untouched =
      stage_.compare_exchange_strong(expected, stage::dropped, std::memory_order_acq_rel);
  lapse_.emplace(errc::store_unreachable, "the store did not answer within its timeout",
                 untouched ? effect::none : effect::unknown);
  const auto channel = channel_;  // `this` may end when the channel drops the call
  channel->answer(*this);
}

std::shared_ptr<call_channel> call_channel::of(boost::asio::io_context& context) {
  return boost::asio::use_service<channel_service>(context).channel();
}

void call_channel::begin(const call_ptr& begun, const std::shared_ptr<batch_queue>& queue,
                         milliseconds timeout, call::handler done) {
  if (waiting_.empty()) work_.emplace(context_->get_executor());
  begun->channel_ = shared_from_this();
  begun->handler_.emplace(std::move(done));
  begun->index_ = waiting_.size();
  waiting_.push_back(begun);
  begun->arm(base::timer_wheel::of(*context_), timeout);

  auto target = std::find_if(outbound_.begin(), outbound_.end(),
                             [&](const bound& b) { return b.queue == queue; });
  if (target == outbound_.end()) target = outbound_.insert(target, bound{queue, {}});
  target->calls.push_back(begun);
  // An idle worker begins before this turn of the loop is over, so that both work at once. Not for
  // a few calls, as each batch costs a flush of the disk.
  if (target->calls.size() >= worth_a_batch && queue->asleep()) return flush();
  if (std::exchange(flush_posted_, true)) return;
  boost::asio::post(*context_, [self = shared_from_this()] {
    self->flush_posted_ = false;
    self->flush();
  });
}

void call_channel::flush() {
  auto outbound = std::exchange(outbound_, {});
  for (auto& [queue, calls] : outbound) {
    if (queue->push(calls)) continue;
    for (const auto& refused : calls) {
      refused->lapse_.emplace(errc::stopped, "the store was stopped");
      // Not from within begin(), which may have called this function.
      boost::asio::post(*context_,
                        [self = shared_from_this(), refused] { self->answer(*refused); });
    }
  }
}

void call_channel::deliver(std::vector<call_ptr>& finished) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      const bool idle = finished_.empty();
      std::move(finished.begin(), finished.end(), std::back_inserter(finished_));
      // Under the lock: the io_context lives at least until `close` has taken it.
      if (idle) boost::asio::post(*context_, [self = shared_from_this()] { self->drain(); });
    }
  }
  finished.clear();
}

void call_channel::drain() {
  auto resuming = std::exchange(resuming_, {});
  {
    const std::lock_guard lock(mutex_);
    resuming.swap(finished_);
  }
  for (const auto& done : resuming) answer(*done);
  resuming.clear();
  resuming_ = std::move(resuming);  // keeps its capacity
}

void call_channel::answer(call& waiting) {
  if (!waiting.handler_) return;  // already resumed: its time was up
  waiting.disarm();
  auto resume = std::move(*waiting.handler_);
  waiting.handler_.reset();
  auto& index = waiting_[waiting.index_];
  const auto kept = std::exchange(index, std::move(waiting_.back()));
  if (index) index->index_ = waiting.index_;
  waiting_.pop_back();
  if (waiting_.empty()) work_.reset();
  boost::asio::dispatch(std::move(resume));
}

void call_channel::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    finished_.clear();
  }
  outbound_.clear();
  work_.reset();
  for (const auto& forgotten : std::exchange(waiting_, {})) {
    forgotten->disarm();
    auto queued = call::stage::queued;
    forgotten->stage_.compare_exchange_strong(queued, call::stage::dropped);
    forgotten->handler_.reset();
  }
}

void deliver_all(std::vector<call_ptr>& finished) {
  std::vector<call_ptr> together;
  while (!finished.empty()) {
    const auto channel = finished.front()->channel();
    const auto others =
        std::stable_partition(finished.begin(), finished.end(),
                              [&](const call_ptr& c) { return c->channel() == channel; });
    std::move(finished.begin(), others, std::back_inserter(together));
    finished.erase(finished.begin(), others);
    channel->deliver(together);
  }
}

}  // namespace onceguard
