// Kept-alive connections to the upstreams, one pool for each I/O thread.
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
  endpoint address;  ///< the address of its idle_connections
  bool reused = false;
  base::boot_clock::time_point idle_since{};
  base::boot_clock::duration idle_when_taken{};
};
using upstream_ptr = std::unique_ptr<upstream_connection>;

class upstream_pool {
 public:
  /// `names` and `suspects` must outlive the pool.
  upstream_pool(boost::asio::io_context& io, const gateway_params& params, host_names& names,
                suspect_upstreams& suspects);
  ~upstream_pool();
  upstream_pool(const upstream_pool&) = delete;
  upstream_pool& operator=(const upstream_pool&) = delete;

  /// Returns a connection that may be written to. A guarded request is never sent twice, so it gets
  /// only an idle connection that was idle for less than a second, at an upstream that is not
  /// suspected of ending such connections; otherwise a new connection. If there is no connection,
  /// the error's detail has the reason, and nothing was sent.
  boost::asio::awaitable<result<upstream_ptr>> take(const endpoint& endpoint, bool guarded);
  /// As `take`, but returns only an idle connection, or null.
  [[nodiscard]] upstream_ptr take_kept(const endpoint& endpoint, bool guarded);
  /// Makes a new connection, even if there are idle ones.
  boost::asio::awaitable<result<upstream_ptr>> connect(const endpoint& endpoint);
  /// Returns a connection to the pool after its last answer was read completely, if it may be kept.
  /// The pool closes the connection after `idle_timeout`, or to make room for later ones.
  void keep(upstream_ptr connection);
  /// The connection ended before its answer. If the cause must be that the connection was an idle
  /// one, the upstream becomes suspect.
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
