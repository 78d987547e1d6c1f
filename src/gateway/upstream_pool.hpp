// Kept-alive connections to the upstreams, for one I/O thread.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <onceguard/error.hpp>

#include "base/clock.hpp"
#include "gateway/host_names.hpp"
#include "gateway/params.hpp"
#include "gateway/suspect_upstreams.hpp"
#include "gateway/timed_socket.hpp"
#include "http1/message.hpp"

namespace onceguard::gateway {

struct upstream_connection {
  upstream_connection(tcp::socket socket, boost::asio::io_context& io, const http1::limits& limits)
      : stream(std::move(socket), io), reader(http1::reader::kind::answer, limits) {}

  timed_socket stream;
  http1::reader reader;
  endpoint address;  ///< which shelf it came from
  bool reused = false;
  base::boot_clock::time_point idle_since{};
  base::boot_clock::duration idle_when_taken{};
};
using upstream_ptr = std::unique_ptr<upstream_connection>;

class upstream_pool {
 public:
  /// `names` and `doubts` must outlive it.
  upstream_pool(boost::asio::io_context& io, const gateway_params& params, host_names& names,
                suspect_upstreams& suspects);
  ~upstream_pool();
  upstream_pool(const upstream_pool&) = delete;
  upstream_pool& operator=(const upstream_pool&) = delete;

  /// A connection that may be written to. For a guarded request, which is never sent twice, a kept
  /// one was idle for less than a second, at an upstream that is not known to end such ones. The
  /// error's detail says why there is none; nothing was sent then.
  boost::asio::awaitable<result<upstream_ptr>> take(const endpoint& endpoint, bool guarded);
  /// As `take`, but only a kept one, or null.
  [[nodiscard]] upstream_ptr take_kept(const endpoint& endpoint, bool guarded);
  /// A new connection, whatever is kept.
  boost::asio::awaitable<result<upstream_ptr>> connect(const endpoint& endpoint);
  /// Gives back a connection whose last answer was read to its end and that may be kept: it is
  /// closed once it was idle for `idle_timeout`, or in favour of later ones.
  void keep(upstream_ptr connection);
  /// It ended before its answer: remembered where that had to be because it was a kept one.
  void broke(const upstream_connection& connection);
  void clear();

 private:
  class idle_connections;

  boost::asio::io_context& io_;
  host_names& names_;
  suspect_upstreams& suspects_;
  const http1::limits limits_;
  const milliseconds connect_timeout_;
  const milliseconds idle_timeout_;
  std::map<endpoint, std::unique_ptr<idle_connections>> shelves_;
};

}  // namespace onceguard::gateway
