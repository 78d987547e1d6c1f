// A socket that never blocks longer than it is allowed to. Libraries of brokers wait without end
// for a broker that does not read, as one does while it is low on memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

#include "tls/context.hpp"
#include "tls/host_lookup.hpp"

namespace onceguard::tls {

class session;

class blocking_socket {
 public:
  blocking_socket();
  blocking_socket(const blocking_socket&) = delete;
  blocking_socket& operator=(const blocking_socket&) = delete;
  ~blocking_socket();

  /// Errors of all calls are errc::broker_unreachable.
  [[nodiscard]] result<void> connect(const std::string& host, std::uint16_t port, moment until);
  /// From now on by TLS. An error: also a certificate that is not trusted, or has another name.
  [[nodiscard]] result<void> secure(const context& settings, const std::string& name, moment until);
  /// Both; without files in the clear. errc::invalid_argument: a file can't be used.
  [[nodiscard]] result<void> connect(const std::string& host, std::uint16_t port,
                                     const std::optional<client_files>& files, moment until);
  /// To the Unix socket at this path.
  [[nodiscard]] result<void> connect_local(const std::string& path, moment until);
  void close() noexcept;
  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }

  /// What is there, without a wait; zero: nothing. An error: the peer closed the connection, or it
  /// broke.
  [[nodiscard]] result<std::size_t> read(std::span<char> buffer);
  /// How many bytes the system took without a wait. After fewer than all, the next call goes on
  /// with the same bytes. By TLS, a peer can't read what was not taken.
  [[nodiscard]] result<std::size_t> write(std::string_view bytes);
  /// The peer has refused our certificate, or that there is none: it has read nothing.
  [[nodiscard]] bool was_refused() const noexcept;
  /// Until there is something to read, or, if it is asked for, the system takes bytes again.
  void wait(bool writable, moment until) const;

 private:
  [[nodiscard]] result<void> connect_one(const addrinfo& peer, moment until);

  [[nodiscard]] error tls_failure(bool cut_off) const;
  [[nodiscard]] result<std::size_t> read_secure(std::span<char> buffer);

  int descriptor_ = -1;
  std::unique_ptr<session> session_;  ///< null: in the clear
  context settings_;                  ///< of the session
  bool unread_ = false;               ///< more may be there that the system does not tell of
  bool write_wanted_ = false;         ///< by the last read
};

}  // namespace onceguard::tls
