// The thread that asks the operator's SQL query.
#pragma once
#include <memory>
#include <string>
#include <thread>

#include <boost/asio/awaitable.hpp>

#include <onceguard/engine.hpp>

#include "reconcile/query/outcome_query.hpp"
#include "store/batch_queue.hpp"

namespace onceguard::postgres {

/// Runs an outcome_query for coroutines, on a separate thread, because the query blocks.
/// Thread-safe. Callers are coroutines on io_contexts that are each run by one thread. These
/// io_contexts may end before this object.
class outcome_query_thread {
 public:
  explicit outcome_query_thread(outcome_query_params params);
  ~outcome_query_thread();  ///< waits for the query that is under way
  outcome_query_thread(const outcome_query_thread&) = delete;
  outcome_query_thread& operator=(const outcome_query_thread&) = delete;

  /// See outcome_query.
  boost::asio::awaitable<result<void>> open();
  boost::asio::awaitable<effect_report> ask(digest scope, std::string key, token lease_token);

 private:
  void run();

  // The time that a caller waits: other calls may be before it in the queue.
  const milliseconds patience_;
  const std::shared_ptr<batch_queue> queue_ = std::make_shared<batch_queue>();
  outcome_query query_;  // used only on the thread
  std::thread thread_;
};

}  // namespace onceguard::postgres
