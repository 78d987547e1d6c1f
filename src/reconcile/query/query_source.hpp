// The query of [reconcile] as a source of outcomes.
#pragma once
#include <memory>

#include "config/settings.hpp"
#include "reconcile/reconcile.hpp"
#include "reconcile/query/outcome_query_thread.hpp"

namespace onceguard::cli {

class query_source final : public outcome_source {
 public:
  /// With `read_only` it may be asked for previews, and the server refuses what would write.
  query_source(const config::settings& settings, bool read_only);

  [[nodiscard]] std::string_view name() const noexcept override { return "query"; }
  boost::asio::awaitable<result<void>> prepare() override;
  boost::asio::awaitable<probe_report> ask(const subject& about, const held_lease& held) override;
  boost::asio::awaitable<std::optional<probe_report>> preview(const subject& about,
                                                              token standing) override;

 private:
  boost::asio::awaitable<probe_report> query(const subject& about, token lease_token);

  const bool absent_is_none_;
  const bool read_only_;
  postgres::outcome_query_thread thread_;
};

/// Null where no query is configured.
[[nodiscard]] std::unique_ptr<query_source> make_query_source(const config::settings& settings,
                                                              bool read_only);

/// What a row says, as far as HTTP allows it in an answer; for tests.
[[nodiscard]] probe_report report_of(postgres::queried_outcome outcome, bool absent_is_none);

}  // namespace onceguard::cli
