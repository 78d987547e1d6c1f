// Asks the application whether an earlier attempt took effect.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <onceguard/engine.hpp>
#include <onceguard/policy.hpp>

#include "gateway/io_thread.hpp"
#include "gateway/params/gateway_params.hpp"
#include "gateway/upstream_pool.hpp"
#include "reconcile/reconcile.hpp"

namespace onceguard::gateway {

// The outcome sources for a gateway's records: the probe of the record's route, or the query if the
// route has no probe.

// Runs reconcile on a schedule while the gateway runs.

/// Runs rounds, with pauses of `reconcile_interval`, until the gateway drains. Each finding is
/// logged. Several gateways of one store may do so at the same time: only the holder of a record's
/// lease asks about the record. `query` may be null.
boost::asio::awaitable<void> keep_reconciling(io_thread& thread, outcome_source* query);

class route_probe;

/// Immutable. Belongs to the thread of the pool, which must outlive this object.
class inquiries {
 public:
  /// `query` may be null. For a record whose route is not in `routes`, the default route is used.
  inquiries(upstream_pool& pool, const std::vector<route_params>& routes, outcome_source* query);
  ~inquiries();
  inquiries(const inquiries&) = delete;
  inquiries& operator=(const inquiries&) = delete;

  [[nodiscard]] inquiry about(const subject& subject) const;
  /// Whether there is any source.
  [[nodiscard]] bool any() const noexcept;

 private:
  [[nodiscard]] route_probe* route_of(const subject& subject) const;

  outcome_source* const query_;
  std::vector<std::unique_ptr<route_probe>> routes_;
};

struct probe_question {
  std::string url;  ///< http://…, with {scope} and {key}
  probe_rule mode = probe_rule::fence;
  std::uint16_t present = 0;
  std::uint16_t absent = 0;
  std::string key;
  std::string scope;  ///< hex
  onceguard::token token = 0;
  milliseconds timeout{10'000};
  std::size_t max_answer_body = 1u << 20;
};

/// Makes the question as the route's policy says.
[[nodiscard]] probe_question make_probe_question(const route_policy& policy, const digest& scope,
                                                 std::string key, onceguard::token token);

/// Never fails: an answer that says neither gives the report `unknown` with the reason.
/// - fence: POST. A 200 with `Onceguard-Outcome: done` means done: its fields and body are those of
///   the first answer, `Onceguard-Status` is its status (200 by default). A 404 with
///   `Onceguard-Outcome: none` and the token in `Onceguard-Token` means not done, and that the
///   application will refuse earlier tokens.
/// - ask: GET. The same; in addition, a status without a report counts as configured. If such a
///   status means done, only the existence of the first answer is known: an empty 200 replaces it.
/// Nothing is sent once the lease `held` is over, as another attempt may ask by then.
boost::asio::awaitable<effect_report> ask_application(upstream_pool& pool, probe_question question,
                                                      const held_lease& held);

/// The URL with both placeholders filled in, percent-encoded. Public for tests.
[[nodiscard]] std::string fill_probe_url(std::string_view url, std::string_view scope,
                                         std::string_view key);

}  // namespace onceguard::gateway
