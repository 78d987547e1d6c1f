#include "messaging/subscription/worker_pool.hpp"

#include <exception>
#include <utility>

namespace onceguard::messaging {
namespace {

error thrown() {
  try {
    throw;
  } catch (const std::exception& why) {
    return {errc::store_unreachable, std::string("the worker of a subscription: ") + why.what(),
            effect::unknown};
  } catch (...) {
    return {errc::store_unreachable, "the worker of a subscription threw what is no std::exception",
            effect::unknown};
  }
}

error wrong_number(std::size_t outcomes, std::size_t messages) {
  return {errc::store_unreachable,
          "the worker of a subscription returned " + std::to_string(outcomes) + " outcomes for " +
              std::to_string(messages) + " messages",
          effect::unknown};
}

void point_at_deliveries(batch_job& job) {
  for (std::size_t i = 0; i < job.deliveries.size(); ++i) job.views[i].source = &job.deliveries[i];
}

}  // namespace

worker_pool::worker_pool(std::size_t workers, const std::function<batch_worker()>& make_worker)
    : make_worker_(make_worker) {
  for (std::size_t i = 0; i < workers; ++i) {
    threads_.emplace_back([this](std::stop_token stop) { run(std::move(stop)); });
  }
}

worker_pool::~worker_pool() {
  // All of them, before the first is waited for: their ends overlap.
  for (auto& thread : threads_) thread.request_stop();
  threads_.clear();
}

void worker_pool::give(batch_job job) {
  {
    const std::lock_guard locked(mutex_);
    waiting_.push_back(std::move(job));
  }
  work_.notify_one();
}

std::vector<batch_job> worker_pool::take_done(milliseconds wait) {
  std::unique_lock locked(mutex_);
  finished_.wait_for(locked, wait, [this] { return !done_.empty(); });
  return std::exchange(done_, {});
}

std::vector<batch_job> worker_pool::take_waiting() {
  const std::lock_guard locked(mutex_);
  std::vector<batch_job> out(std::make_move_iterator(waiting_.begin()),
                             std::make_move_iterator(waiting_.end()));
  waiting_.clear();
  return out;
}

void worker_pool::run(std::stop_token stop) {
  batch_worker worker;
  while (true) {
    std::unique_lock locked(mutex_);
    if (!work_.wait(locked, stop, [this] { return !waiting_.empty(); })) return;
    auto job = std::move(waiting_.front());
    waiting_.pop_front();
    locked.unlock();
    try {
      if (!worker) worker = make_worker_();
      point_at_deliveries(job);
      job.outcomes = worker(job.views);
      if (job.outcomes && job.outcomes->size() != job.deliveries.size()) {
        job.outcomes = wrong_number(job.outcomes->size(), job.deliveries.size());
      }
    } catch (...) {
      job.outcomes = thrown();
    }
    const bool good = job.outcomes.has_value();
    locked.lock();
    done_.push_back(std::move(job));
    finished_.notify_one();
    locked.unlock();
    // Whatever the worker holds may be broken, and its end may block.
    if (!good) worker = nullptr;
  }
}

}  // namespace onceguard::messaging
