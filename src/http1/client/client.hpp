// Requests and their answers, for threads that may wait: over connections in the clear or by TLS,
// kept between requests.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "base/address.hpp"
#include "tls/blocking_socket.hpp"

namespace onceguard::http1 {

struct answer {
  std::uint16_t status = 0;
  std::vector<std::pair<std::string, std::string>> fields;  ///< names and values, as they came
  std::string body;
};

/// Of one server. Thread-safe: each request has a connection of its own while it runs.
class client {
 public:
  static constexpr std::size_t answer_size_usual = 64u << 20;

  /// The files are read when a connection is made; a context is kept until a handshake fails. An
  /// answer whose body is longer than `answer_size_max` can't be read.
  explicit client(base::server_address address, tls::client_files files = {},
                  std::size_t answer_size_max = answer_size_usual);
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client();

  /// Sends the bytes of a request and reads the final answer, within the timeout. An address where
  /// nobody answers is errc::not_found, an answer that can't be read errc::conflict. The effect of
  /// an error is none where the server has got nothing of the request, or has refused our
  /// certificate; else it is unknown. A connection that was closed while nobody used it costs
  /// nothing: as long as nothing was sent, another one is made.
  [[nodiscard]] result<answer> exchange(std::string_view method, std::string_view request,
                                        milliseconds timeout);

 private:
  class connection;
  using connection_ptr = std::unique_ptr<connection>;

  /// One that was used a moment ago and shows no end; null: there is none.
  [[nodiscard]] connection_ptr take_kept();
  [[nodiscard]] result<connection_ptr> connect(tls::moment until);
  [[nodiscard]] result<tls::context> context();
  void forget_context();
  [[nodiscard]] result<answer> exchange_on(connection_ptr used, std::string_view method,
                                           std::string_view request, tls::moment until);

  const base::server_address address_;
  const tls::client_files files_;
  const std::size_t answer_size_max_;
  std::mutex mutex_;
  std::vector<connection_ptr> kept_;  ///< the last used at the end
  tls::context context_;
};

}  // namespace onceguard::http1
