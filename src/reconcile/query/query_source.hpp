// The operator's SQL query as a source of outcomes.
#pragma once
#include <boost/asio/awaitable.hpp>

#include "reconcile/query/outcome_query_thread.hpp"
#include "reconcile/reconcile.hpp"

namespace onceguard {

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
