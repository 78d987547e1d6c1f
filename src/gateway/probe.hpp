// Asking the application whether an earlier attempt took effect.
#pragma once
#include <cstdint>
#include <string>

#include <boost/asio/awaitable.hpp>

#include <onceguard/engine.hpp>
#include <onceguard/policy.hpp>

#include "gateway/upstream_pool.hpp"

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

/// As a route's policy has it.
[[nodiscard]] probe_question make_probe_question(const route_policy& policy, const digest& scope,
                                                 std::string key, onceguard::token token);

/// Never fails: what is not a clear answer is unclear, and says why.
/// - fence: POST. 200 with `Onceguard-Outcome: done` says that it did: the fields and the body are
///   the first answer's, `Onceguard-Status` is its status (else 200); 404 with `Onceguard-Outcome:
///   none` and the token in `Onceguard-Token` says that it did not, and never will with an earlier
///   token.
/// - ask: GET. The same, and a bare status counts where it was configured to; then all that is
///   known of the first answer is that there was one: an empty 200 stands for it.
/// Nothing is sent once the lease `held` is over: another may ask by then.
boost::asio::awaitable<effect_report> ask_application(upstream_pool& pool, probe_question question,
                                                      const held_lease& held);

/// The URL with both placeholders filled in, percent-encoded; for tests.
[[nodiscard]] std::string fill_probe_url(std::string_view url, std::string_view scope,
                                         std::string_view key);

/// Splits "http://host:port/path"; false where it is no such URL.
[[nodiscard]] bool split_http_url(std::string_view url, endpoint& endpoint, std::string& target);

}  // namespace onceguard::gateway
