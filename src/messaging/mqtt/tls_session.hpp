// TLS over bytes in memory: OpenSSL never sees the socket, as its writes raise SIGPIPE.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

#include <onceguard/error.hpp>

#include "messaging/mqtt/address.hpp"

namespace onceguard::messaging::mqtt {

class tls_session {
 public:
  /// errc::invalid_argument: a file can't be used.
  [[nodiscard]] static result<std::unique_ptr<tls_session>> make(const tls_settings& settings,
                                                                 const std::string& host);

  /// Goes on with the handshake: true when it is done. An error: errc::broker_unreachable.
  [[nodiscard]] result<bool> shake_hands();
  /// Bytes that arrived.
  void take(std::string_view bytes);
  /// What they mean; zero: nothing more. errc::broker_unreachable: they are damaged, or the end.
  [[nodiscard]] result<std::size_t> read(std::span<char> buffer);
  /// Encrypts; false: that failed.
  [[nodiscard]] bool write(std::string_view bytes);
  /// Appends what is to be sent.
  void move_outgoing(std::string& out);

 private:
  struct context_deleter {
    void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
  };
  struct session_deleter {
    void operator()(SSL* session) const noexcept { SSL_free(session); }
  };
  using context_ptr = std::unique_ptr<SSL_CTX, context_deleter>;

  tls_session(context_ptr context, std::string host);
  [[nodiscard]] static result<void> set_files(SSL_CTX* context, const tls_settings& settings);
  [[nodiscard]] bool set_host();
  [[nodiscard]] error failure() const;

  const context_ptr context_;
  const std::string host_;
  const std::unique_ptr<SSL, session_deleter> session_;
  BIO* arrived_ = nullptr;   ///< of the session
  BIO* outgoing_ = nullptr;  ///< of the session
};

}  // namespace onceguard::messaging::mqtt
