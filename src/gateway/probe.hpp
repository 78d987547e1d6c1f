// Asks the application whether an earlier attempt took effect.
#pragma once
#include <cstdint>
#include <string>

#include <boost/asio/awaitable.hpp>

#include <onceguard/engine.hpp>
#include <onceguard/policy.hpp>

#include "gateway/upstream_pool.hpp"
#include "reconcile/reconcile.hpp"

namespace onceguard::gateway {

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
