// TLS over one socket. Nothing here waits: the caller waits for the socket.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tls/context.hpp"
#include "tls/peer_name.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): the name that OpenSSL has
using SSL = struct ssl_st;

namespace onceguard::tls {

enum class step : std::uint8_t {
  done,
  want_read,   ///< again when the socket is readable
  want_write,  ///< again when the socket is writable
  ended,       ///< the peer said that nothing more comes
  cut_off,     ///< the connection ended without that
  failed,      ///< see failure()
};

struct progress {
  step state = step::done;
  std::size_t bytes = 0;
};

/// Not thread-safe. One reader and one writer may take turns.
class session {
 public:
  /// The side that accepts. `socket` must not block, and outlives the session.
  [[nodiscard]] static std::unique_ptr<session> accept(const context& settings, int socket);
  /// The side that connects. `name` is asked for (SNI), unless it is an address, and must be that
  /// of the certificate.
  [[nodiscard]] static std::unique_ptr<session> connect(const context& settings, int socket,
                                                        const std::string& name);

  [[nodiscard]] step shake_hands() noexcept;
  [[nodiscard]] progress read(std::span<char> target) noexcept;
  /// Looks whether application data has come, and takes what is not (session tickets).
  [[nodiscard]] step find_data() noexcept;
  /// `bytes` counts what went to the kernel as whole records. The peer can't read a part of one.
  /// After want_write go on with the same bytes.
  [[nodiscard]] progress write(std::string_view bytes) noexcept;
  /// Says that nothing more comes, if the kernel takes that at once. Not after a record that the
  /// kernel has in part: the rest of that would be sent first, and may be the end of a request that
  /// is given up.
  void announce_end() noexcept;

  /// Why a step failed, for people.
  [[nodiscard]] std::string failure() const { return failure_; }
  /// The peer has refused our certificate, or that there is none. A peer that does so has not read
  /// what was sent before: in TLS 1.3 that comes after the certificate.
  [[nodiscard]] bool was_refused() const noexcept { return refused_; }
  /// The handshake failed because the client speaks HTTP without TLS.
  [[nodiscard]] bool met_plain_http() const noexcept { return plain_http_; }
  /// What the peer's certificate makes it known by; empty: the peer has none.
  [[nodiscard]] std::string peer(peer_name wanted) const;

 private:
  struct deleter {
    void operator()(SSL* one) const noexcept;
  };

  explicit session(SSL* made) noexcept : session_(made) {}
  [[nodiscard]] step step_of(int returned) noexcept;

  const std::unique_ptr<SSL, deleter> session_;
  std::string failure_;
  bool plain_http_ = false;
  bool refused_ = false;
  bool shaken_ = false;
  bool writing_ = false;  // a record is not wholly with the kernel
};

}  // namespace onceguard::tls
