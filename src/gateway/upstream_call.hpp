// Sends a guarded request to its upstream once, and reads the whole answer.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include <onceguard/byte_budget.hpp>
#include <onceguard/record.hpp>

#include "gateway/params/gateway_params.hpp"
#include "gateway/receiving_clients.hpp"
#include "gateway/upstream_pool.hpp"
#include "http/forwarded_fields.hpp"
#include "http/problem.hpp"
#include "http/trace_context.hpp"
#include "http1/message.hpp"

namespace onceguard::inline v1 {
class held_lease;
}

namespace onceguard::gateway {

enum class call_end : std::uint8_t {
  not_sent,    ///< no byte was given to the kernel
  refused,     ///< the upstream refused the gateway's certificate, and so has read no request
  lease_over,  ///< the lease ended before the last byte was given to the kernel: the request stays
               ///< incomplete
  answered,  ///< the answer is complete: its head is in the connection's reader, its body in `body`
  too_large,  ///< the answer is longer than the limit, or a stream: `body` is its beginning
  timed_out,
  broken,    ///< the connection broke, or the answer was malformed
  upgraded,  ///< 101
};

struct call_result {
  call_end end = call_end::broken;
  std::string body;
  bool request_begun = false;  ///< a part of the request was given to the kernel
  /// The whole request was given to the kernel; otherwise the connection can't be kept.
  bool request_sent = false;
  std::string why;  ///< for the log
};

/// What a call without an answer means for the operation and for its client.
struct call_failure {
  settle_kind kind = settle_kind::abandon;
  http::problem problem = http::problem::upstream_broken;
  unknown_reason reason = unknown_reason::none;  ///< abandon: why the outcome is unknown
  std::string why;                               ///< for the log
};
/// Empty: the upstream has answered. The operation is released only if no byte of its request was
/// given to the kernel, or none was read.
[[nodiscard]] std::optional<call_failure> failure_of(const call_result& result);

/// What a client gets when there is no connection to the upstream: nothing was sent.
[[nodiscard]] http::problem problem_of_no_connection(const error& why) noexcept;

struct call_limits {
  milliseconds upstream_timeout{60'000};  ///< from the request's last byte to the answer's
  milliseconds write_timeout{30'000};
  std::size_t max_answer_body = 1u << 20;
  /// Who has to go if there is no room for the answer; null: the answer does not count.
  receiving_clients* readers = nullptr;
};

/// Checks before each piece of the request whether `lease` may go on (null: there is no lease).
/// `held` grows before a part of the answer is held in memory. If there is no room in its budget
/// until the upstream's time is over, the answer ends as one that is too large.
boost::asio::awaitable<call_result> call_upstream(upstream_connection& up, std::string head,
                                                  std::string_view body, call_limits limits,
                                                  const held_lease* lease, byte_reservation& held);

}  // namespace onceguard::gateway
