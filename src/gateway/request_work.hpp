// The work of one guarded request: what it is done with, and what it leaves for the client.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include <onceguard/byte_budget.hpp>
#include <onceguard/engine.hpp>

#include "gateway/message_heads.hpp"
#include "gateway/request_body.hpp"
#include "gateway/session.hpp"
#include "gateway/upstream_call.hpp"
#include "gateway/upstream_pool.hpp"
#include "http/admission.hpp"

namespace onceguard::gateway {

struct work {
  explicit work(session& owner)
      : client(owner), body(owner), answer_room(owner.thread().shared.budget) {}
  work(const work&) = delete;
  work& operator=(const work&) = delete;

  session& client;
  http::admission admitted{};
  request_body body;

  // Afterwards one of `whole`, `begun` and `failure`.
  byte_reservation answer_room;
  std::shared_ptr<answer> whole{};     ///< as the first client gets it, without `extra`
  extra_fields extra{};                ///< Date and Set-Cookie of the first answer
  std::optional<std::string> begun{};  ///< the beginning of an answer that still arrives from `up`
  upstream_ptr up{};
  std::optional<http::problem> failure{};

  [[nodiscard]] const route_policy& policy() const noexcept { return client.rule().rule.policy; }
  /// The work gave no answer.
  [[nodiscard]] settle_terms fail(call_failure failed);
  /// From now on, the work may take effect. Empty: the lease permits it, or there is none.
  [[nodiscard]] std::optional<call_failure> begin_sending(lease_handle* lease);
};

// Who does the work, once; `lease` is null if no record guards the request.

/// Sends the request to its upstream.
boost::asio::awaitable<settle_terms> run_at_upstream(work& job, lease_handle* lease);
/// Publishes the delivery to its queue.
boost::asio::awaitable<settle_terms> run_in_queue(work& job, lease_handle* lease);

// What the client gets. True: its connection may be used for another request.

/// The answer as the operation's outcome says.
boost::asio::awaitable<bool> answer_client(work& done, outcome ended);

/// What the request's fingerprint is made from, with this body and in this scope.
[[nodiscard]] fingerprint_input input_of(const session& client, const http::scope_match& under,
                                         std::string_view body);
/// The operation of an admitted request.
[[nodiscard]] operation make_operation(work& job);
/// Logs that the buffers are full, and returns the details of the problem answer.
[[nodiscard]] http::problem_detail buffers_full(session& client, std::string_view for_what);

}  // namespace onceguard::gateway
