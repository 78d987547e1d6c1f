// Connections to one HTTP endpoint, in the clear or by TLS, kept between requests.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "base/address.hpp"
#include "http1/client/exchange.hpp"
#include "messaging/socket/tcp_socket.hpp"

namespace onceguard::consume {

/// Thread-safe: each request has a connection of its own while it runs.
class endpoint_connections {
 public:
  /// The files are read when a connection is made; a context is kept until a handshake fails.
  endpoint_connections(base::endpoint address, tls::client_files files);
  endpoint_connections(const endpoint_connections&) = delete;
  endpoint_connections& operator=(const endpoint_connections&) = delete;
  ~endpoint_connections();

  /// Sends the bytes of a request and reads the final answer, within the timeout. The effect of an
  /// error is none where the endpoint has got nothing of the request, or has refused our
  /// certificate; else it is unknown. A connection that was closed while nobody used it costs
  /// nothing: as long as nothing was sent, another one is made.
  [[nodiscard]] result<http1::answer> post(std::string_view request, milliseconds timeout);

 private:
  class connection;
  using connection_ptr = std::unique_ptr<connection>;

  /// One that was used a moment ago and shows no end; null: there is none.
  [[nodiscard]] connection_ptr take_kept();
  [[nodiscard]] result<connection_ptr> connect(messaging::moment until);
  [[nodiscard]] result<tls::context> context();
  void forget_context();
  [[nodiscard]] result<http1::answer> exchange(connection_ptr used, std::string_view request,
                                               messaging::moment until);

  const base::endpoint address_;
  const tls::client_files files_;
  std::mutex mutex_;
  std::vector<connection_ptr> kept_;  ///< the last used at the end
  tls::context context_;
};

}  // namespace onceguard::consume
