// A socket that never blocks longer than it is allowed to. Libraries of brokers wait without end
// for a broker that does not read, as one does while it is low on memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

#include "messaging/socket/host_lookup.hpp"

namespace onceguard::messaging {

class tcp_socket {
 public:
  tcp_socket() = default;
  tcp_socket(const tcp_socket&) = delete;
  tcp_socket& operator=(const tcp_socket&) = delete;
  ~tcp_socket() { close(); }

  /// Errors of all calls are errc::broker_unreachable.
  [[nodiscard]] result<void> connect(const std::string& host, std::uint16_t port, moment until);
  void close() noexcept;

  /// What is there, without a wait; zero: nothing. An error: the broker closed the connection, or
  /// it broke.
  [[nodiscard]] result<std::size_t> read(std::span<char> buffer);
  /// How many bytes the system took without a wait.
  [[nodiscard]] result<std::size_t> write(std::string_view bytes);
  /// Until there is something to read, or, if it is asked for, the system takes bytes again.
  void wait(bool writable, moment until) const;

 private:
  [[nodiscard]] result<void> connect_one(const addrinfo& peer, moment until);

  int descriptor_ = -1;
};

}  // namespace onceguard::messaging
