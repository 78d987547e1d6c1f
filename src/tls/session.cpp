#include "tls/session.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <sys/socket.h>
#include <system_error>

#include <climits>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/unique_handle.hpp"

namespace onceguard::tls {
namespace {

int openssl_size(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, INT_MAX));
}

bool is_address(const std::string& host) {
  auto* const read = a2i_IPADDRESS(host.c_str());
  ASN1_OCTET_STRING_free(read);
  return read != nullptr;
}

bool set_name(SSL* made, const std::string& name) {
  // An address is no name for SNI (RFC 6066, section 3), and is compared with other entries of the
  // certificate.
  if (is_address(name)) {
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(made), name.c_str()) == 1;
  }
  return SSL_set_tlsext_host_name(made, name.c_str()) == 1 &&
         SSL_set1_host(made, name.c_str()) == 1;
}

/// Whether OpenSSL's reason is an alert of the peer by which it refuses a certificate. Other alerts
/// may come at any time.
bool refuses_certificate(int reason) noexcept {
  constexpr std::array alerts{
      SSL_AD_BAD_CERTIFICATE,     SSL_AD_UNSUPPORTED_CERTIFICATE, SSL_AD_CERTIFICATE_REVOKED,
      SSL_AD_CERTIFICATE_EXPIRED, SSL_AD_CERTIFICATE_UNKNOWN,     SSL_AD_UNKNOWN_CA,
      SSL_AD_ACCESS_DENIED,       SSL_AD_DECRYPT_ERROR,           SSL_AD_CERTIFICATE_REQUIRED};
  return std::any_of(alerts.begin(), alerts.end(),
                     [&](int alert) { return reason == SSL_AD_REASON_OFFSET + alert; });
}

// OpenSSL's own way to a socket writes with write(2), which raises SIGPIPE where the peer has gone:
// a program that uses the library may not have it ignored.

int socket_of(BIO* one) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(one)));
}

bool openssl_wants_again(int code) {
  return code == EAGAIN || code == EWOULDBLOCK || code == EINTR;
}

int write_socket(BIO* one, const char* bytes, int size) {
  BIO_clear_retry_flags(one);
  const auto count = ::send(socket_of(one), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (count < 0 && openssl_wants_again(errno)) BIO_set_retry_write(one);
  return static_cast<int>(count);
}

int read_socket(BIO* one, char* bytes, int size) {
  BIO_clear_retry_flags(one);
  const auto count = ::recv(socket_of(one), bytes, static_cast<std::size_t>(size), 0);
  if (count < 0 && openssl_wants_again(errno)) BIO_set_retry_read(one);
  // OpenSSL 3 asks for it, to tell an end without close_notify from an error.
  if (count == 0) BIO_set_flags(one, BIO_FLAGS_IN_EOF);
  return static_cast<int>(count);
}

long control_socket(BIO* one, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(one, BIO_FLAGS_IN_EOF) != 0;
  return command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP;
}

int make_socket(BIO* one) {
  BIO_set_init(one, 1);
  return 1;
}

/// Made once, and kept until the program ends.
BIO_METHOD* socket_method() {
  static BIO_METHOD* const made = [] {
    auto* const out = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    if (out == nullptr) return out;
    BIO_meth_set_write(out, write_socket);
    BIO_meth_set_read(out, read_socket);
    BIO_meth_set_ctrl(out, control_socket);
    BIO_meth_set_create(out, make_socket);
    return out;
  }();
  return made;
}

bool set_socket(SSL* made, int socket) {
  auto* const method = socket_method();
  auto* const way = method == nullptr ? nullptr : BIO_new(method);
  if (way == nullptr) return false;
  BIO_set_data(way, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
  SSL_set_bio(made, way, way);  // which owns it now
  return true;
}

}  // namespace

void session::deleter::operator()(SSL* one) const noexcept { SSL_free(one); }

std::unique_ptr<session> session::accept(const context& settings, int socket) {
  auto* const made = SSL_new(settings.get());
  if (made == nullptr) return nullptr;
  std::unique_ptr<session> out(new session(made));
  if (!set_socket(made, socket)) return nullptr;
  SSL_set_accept_state(made);
  return out;
}

std::unique_ptr<session> session::connect(const context& settings, int socket,
                                          const std::string& name) {
  auto* const made = SSL_new(settings.get());
  if (made == nullptr) return nullptr;
  std::unique_ptr<session> out(new session(made));
  if (!set_socket(made, socket) || !set_name(made, name)) return nullptr;
  SSL_set_connect_state(made);
  return out;
}

step session::step_of(int returned) noexcept {
  const int system_error = errno;
  switch (SSL_get_error(session_.get(), returned)) {
    case SSL_ERROR_NONE:
      return step::done;
    case SSL_ERROR_WANT_READ:
      return step::want_read;
    case SSL_ERROR_WANT_WRITE:
      return step::want_write;
    case SSL_ERROR_ZERO_RETURN:
      return step::ended;
    case SSL_ERROR_SYSCALL:
      failure_ = system_error == 0 ? "the connection ended"
                                   : std::generic_category().message(system_error);
      ERR_clear_error();
      return step::cut_off;
    default:
      break;
  }
  const auto code = ERR_peek_last_error();
  ERR_clear_error();
  const int reason = ERR_GET_REASON(code);
  plain_http_ = reason == SSL_R_HTTP_REQUEST;
  refused_ = refused_ || (ERR_GET_LIB(code) == ERR_LIB_SSL && refuses_certificate(reason));
  const auto* const text = ERR_reason_error_string(code);
  failure_ = text == nullptr ? "TLS failed" : text;
  const auto verified = SSL_get_verify_result(session_.get());
  if (!shaken_ && verified != X509_V_OK) failure_ = X509_verify_cert_error_string(verified);
  return reason == SSL_R_UNEXPECTED_EOF_WHILE_READING ? step::cut_off : step::failed;
}

step session::shake_hands() noexcept {
  // Before each call: SSL_get_error looks into this thread's queue of errors, where another call's
  // may lie. An errno that stays 0 tells an end from an error of the system.
  ERR_clear_error();
  errno = 0;
  const auto out = step_of(SSL_do_handshake(session_.get()));
  shaken_ = out == step::done;
  return out;
}

progress session::read(std::span<char> target) noexcept {
  ERR_clear_error();
  errno = 0;
  const int count = SSL_read(session_.get(), target.data(), openssl_size(target.size()));
  if (count > 0) return {step::done, static_cast<std::size_t>(count)};
  return {step_of(count), 0};
}

step session::find_data() noexcept {
  ERR_clear_error();
  errno = 0;
  char byte = 0;
  const int count = SSL_peek(session_.get(), &byte, 1);
  return count > 0 ? step::done : step_of(count);
}

progress session::write(std::string_view bytes) noexcept {
  progress out;
  while (out.bytes < bytes.size()) {
    ERR_clear_error();
    errno = 0;
    const auto rest = bytes.substr(out.bytes);
    const int count = SSL_write(session_.get(), rest.data(), openssl_size(rest.size()));
    writing_ = count <= 0;
    if (count <= 0) {
      out.state = step_of(count);
      break;
    }
    out.bytes += static_cast<std::size_t>(count);
  }
  return out;
}

void session::announce_end() noexcept {
  if (!shaken_ || writing_) return;
  ERR_clear_error();
  // The peer's end of it is not waited for: HTTP knows by itself where a message ends.
  SSL_shutdown(session_.get());
  ERR_clear_error();
}

std::string session::peer(peer_name wanted) const {
  const base::unique_handle<X509, X509_free> certificate(SSL_get1_peer_certificate(session_.get()));
  return certificate ? name_of_peer(*certificate, wanted) : std::string();
}

}  // namespace onceguard::tls
