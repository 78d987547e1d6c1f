// The bytes of a connection, in the clear or by TLS. One thread at a time; nothing waits longer
// than it is allowed to.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

#include "messaging/mqtt/address.hpp"
#include "messaging/socket/tcp_socket.hpp"

namespace onceguard::messaging::mqtt {

class transport {
 public:
  /// Errors of all calls are errc::broker_unreachable; of open also errc::invalid_argument: a file
  /// of the TLS settings can't be used.
  [[nodiscard]] result<void> open(const address& peer, moment until) {
    return socket_.connect(peer.url.host, peer.url.port, peer.tls, until);
  }
  void close() noexcept;

  /// Adds to what is to be sent.
  void add(std::string_view bytes) { outgoing_ += bytes; }
  /// Whether something is left to be sent.
  [[nodiscard]] bool pending() const noexcept { return written_ < outgoing_.size(); }
  /// Sends as much as the system takes without a wait: how much that is.
  [[nodiscard]] result<std::size_t> write();
  /// What is there, without a wait; zero: nothing. An error: the server closed the connection, or
  /// it broke.
  [[nodiscard]] result<std::size_t> read(std::span<char> buffer) { return socket_.read(buffer); }
  /// Until one of them may do something.
  void wait(moment until) const { socket_.wait(pending(), until); }

 private:
  tcp_socket socket_;
  std::string outgoing_;
  std::size_t written_ = 0;  ///< of outgoing_
};

}  // namespace onceguard::messaging::mqtt
