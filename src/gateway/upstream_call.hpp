// A guarded request's exchange with its upstream: sent once, and its answer held to its end.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include <onceguard/byte_budget.hpp>

#include "gateway/upstream_pool.hpp"

namespace onceguard {
class held_lease;
}

namespace onceguard::gateway {

enum class call_end : std::uint8_t {
  not_sent,    ///< no byte was given to the kernel
  lease_over,  ///< before the last byte was given to the kernel: what was sent stays a part
  answered,    ///< whole: the head is in the connection's reader, the body in `body`
  too_large,   ///< the answer is longer than may be held (or a stream): `body` is its beginning
  timed_out,
  broken,    ///< broke off, or answered nonsense
  upgraded,  ///< 101
};

struct call_result {
  call_end end = call_end::broken;
  std::string body;
  bool request_begun = false;  ///< some of it was given to the kernel
  bool request_sent = false;   ///< all of it; else the connection can't be kept
  std::string why;             ///< broken: for the log
};

struct call_limits {
  milliseconds upstream_timeout{60'000};  ///< from the request's last byte to the answer's
  milliseconds write_timeout{30'000};
  std::size_t max_answer_body = 1u << 20;
};

/// Before each piece of the request, `lease` is asked whether it may go on (null: there is none).
/// `held` grows to what of the answer is held in memory.
boost::asio::awaitable<call_result> call_upstream(upstream_connection& up, std::string head,
                                                  std::string_view body, call_limits limits,
                                                  const held_lease* lease, byte_reservation& held);

}  // namespace onceguard::gateway
