// The operator's SQL query as a source of outcomes.
#pragma once
#include <memory>
#include <thread>

#include <boost/asio/awaitable.hpp>

#include "reconcile/query/outcome_query.hpp"
#include "reconcile/reconcile.hpp"
#include "store/batch_queue.hpp"

namespace onceguard {

namespace postgres {

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

}  // namespace postgres

class query_source final : public outcome_source {
 public:
  /// Only a query that is read-only is used for previews.
  explicit query_source(const postgres::outcome_query_params& params)
      : read_only_(params.read_only), thread_(params) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "query"; }
  boost::asio::awaitable<result<void>> prepare() override { return thread_.open(); }
  boost::asio::awaitable<effect_report> ask(const subject& about, const held_lease& held) override;
  boost::asio::awaitable<std::optional<effect_report>> preview(const subject& about,
                                                               token present) override;

 private:
  boost::asio::awaitable<effect_report> query(const subject& about, token lease_token);

  const bool read_only_;
  postgres::outcome_query_thread thread_;
};

/// The report with its answer as HTTP allows it; `unknown` if HTTP does not allow the answer.
/// Public for tests.
[[nodiscard]] effect_report as_http_has_it(effect_report report);

}  // namespace onceguard
