// Asks an outcome_query for coroutines: the thread that blocks is the desk's own.
#pragma once
#include <memory>
#include <thread>

#include <boost/asio/awaitable.hpp>

#include "reconcile/query/outcome_query.hpp"
#include "store/batch_queue.hpp"

namespace onceguard::postgres {

/// Thread-safe. Callers are coroutines on io_contexts that one thread each runs, and which may end
/// before the desk does.
class outcome_query_thread {
 public:
  explicit outcome_query_thread(outcome_query_params params);
  ~outcome_query_thread();  ///< waits for the question that is under way
  outcome_query_thread(const outcome_query_thread&) = delete;
  outcome_query_thread& operator=(const outcome_query_thread&) = delete;

  /// See outcome_query.
  boost::asio::awaitable<result<void>> open();
  boost::asio::awaitable<effect_report> ask(digest scope, std::string key, token lease_token);

 private:
  void run();

  const milliseconds patience_;  // of callers: others may be asked about before
  const std::shared_ptr<batch_queue> queue_ = std::make_shared<batch_queue>();
  outcome_query query_;  // the thread's
  std::thread thread_;
};

}  // namespace onceguard::postgres
