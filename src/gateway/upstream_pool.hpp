// Kept-alive connections to the upstreams, one pool for each I/O thread.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "gateway/host_lookup.hpp"
#include "gateway/params/gateway_params.hpp"
#include "gateway/suspect_upstreams.hpp"
#include "http1/message.hpp"
#include "tls/async_socket.hpp"
#include "tls/context.hpp"

namespace onceguard::gateway {

using tls::async_socket;
using tls::error_code;
using tls::tcp;
using tls::transfer;

struct upstream_connection {
  upstream_connection(tcp::socket socket, boost::asio::io_context& io, const http1::limits& limits)
      : stream(std::move(socket), io), reader(http1::reader::kind::answer, limits) {}

  /// Why TLS has ended the connection, for people; empty: TLS is no reason.
  [[nodiscard]] std::string why() const;

  async_socket stream;
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
  upstream_pool(boost::asio::io_context& io, const gateway_params& params, host_lookup& names,
                suspect_upstreams& suspects);
  ~upstream_pool();
  upstream_pool(const upstream_pool&) = delete;
  upstream_pool& operator=(const upstream_pool&) = delete;

  /// Sets the address of this process's own listener.
  void set_listener(const tcp::endpoint& listener) { listener_ = listener; }

  /// Returns a connection that may be written to. A guarded request is never sent twice, so it gets
  /// only an idle connection that was idle for less than a second, at an upstream that is not
  /// suspected of ending such connections; otherwise a new connection. If there is no connection,
  /// the error's detail has the reason, and nothing was sent.
  boost::asio::awaitable<result<upstream_ptr>> take(const endpoint& endpoint, bool guarded);
  /// As `take`, but returns only an idle connection, or null.
  [[nodiscard]] upstream_ptr take_kept(const endpoint& endpoint, bool guarded);
  /// Makes a new connection, even if there are idle ones.
  boost::asio::awaitable<result<upstream_ptr>> connect(const endpoint& endpoint);
  /// As `connect`, but fails if the connection leads back to this process's own listener. There,
  /// each forwarded request would arrive as another one to be forwarded, until all slots are taken.
  /// errc::conflict: the address is that of this gateway.
  boost::asio::awaitable<result<upstream_ptr>> connect_onward(const endpoint& endpoint);
  /// Returns a connection to the pool after its last answer was read completely, if it may be kept.
  /// The pool closes the connection after `idle_timeout`, or to make room for later ones.
  void keep(upstream_ptr connection);
  /// The connection ended before its answer. If the cause must be that the connection was an idle
  /// one, the upstream becomes suspect.
  void broke(const upstream_connection& connection);
  void clear();

 private:
  class idle_connections;

  [[nodiscard]] bool leads_back(tcp::socket& socket) const;
  boost::asio::awaitable<result<void>> secure(upstream_connection& connection,
                                              milliseconds timeout);

  boost::asio::io_context& io_;
  host_lookup& names_;
  suspect_upstreams& suspects_;
  const http1::limits limits_;
  const milliseconds connect_timeout_;
  const milliseconds idle_timeout_;
  tcp::endpoint listener_;
  std::map<endpoint, std::unique_ptr<idle_connections>> shelves_;
  tls::context usual_tls_;  // for secure addresses without settings; null: not needed so far
};

}  // namespace onceguard::gateway
