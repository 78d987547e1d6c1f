#include "messaging/mqtt/tls_session.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <climits>
#include <openssl/err.h>
#include <openssl/x509v3.h>

namespace onceguard::messaging::mqtt {
namespace {

/// The last error of OpenSSL's on this thread, for people.
std::string openssl_words() {
  const auto code = ERR_peek_last_error();
  ERR_clear_error();
  const char* const reason = ERR_reason_error_string(code);
  return reason == nullptr ? "no reason is known" : reason;
}

error wrong_file(std::string_view name) {
  return {errc::invalid_argument,
          "the file of the parameter " + std::string(name) + " can't be used: " + openssl_words()};
}

bool is_address(const std::string& host) {
  auto* const read = a2i_IPADDRESS(host.c_str());
  ASN1_OCTET_STRING_free(read);
  return read != nullptr;
}

int size_of(std::size_t size) { return static_cast<int>(std::min<std::size_t>(size, INT_MAX)); }

}  // namespace

tls_session::tls_session(context_ptr context, std::string host)
    : context_(std::move(context)), host_(std::move(host)), session_(SSL_new(context_.get())) {
  if (!session_) return;
  arrived_ = BIO_new(BIO_s_mem());
  outgoing_ = BIO_new(BIO_s_mem());
  SSL_set_bio(session_.get(), arrived_, outgoing_);
  SSL_set_connect_state(session_.get());
}

result<void> tls_session::set_files(SSL_CTX* context, const tls_settings& settings) {
  ERR_clear_error();
  if (settings.ca) {
    if (SSL_CTX_load_verify_locations(context, settings.ca->c_str(), nullptr) != 1) {
      return wrong_file("ca");
    }
  } else {
    SSL_CTX_set_default_verify_paths(context);
  }
  if (settings.certificate.empty()) return {};
  if (SSL_CTX_use_certificate_chain_file(context, settings.certificate.c_str()) != 1) {
    return wrong_file("cert");
  }
  if (SSL_CTX_use_PrivateKey_file(context, settings.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return wrong_file("key");
  }
  return {};
}

/// The certificate must be one of this host.
bool tls_session::set_host() {
  if (is_address(host_)) {
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session_.get()), host_.c_str()) == 1;
  }
  return SSL_set_tlsext_host_name(session_.get(), host_.c_str()) == 1 &&
         SSL_set1_host(session_.get(), host_.c_str()) == 1;
}

result<std::unique_ptr<tls_session>> tls_session::make(const tls_settings& settings,
                                                       const std::string& host) {
  context_ptr context(SSL_CTX_new(TLS_client_method()));
  if (!context) return error(errc::broker_unreachable, "no memory for TLS");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  if (auto set = set_files(context.get(), settings); !set) return set.error();
  SSL_CTX_set_verify(context.get(), settings.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  std::unique_ptr<tls_session> out(new tls_session(std::move(context), host));
  if (out->outgoing_ == nullptr || !out->set_host()) {
    return error(errc::broker_unreachable, "TLS can't begin: " + openssl_words());
  }
  return out;
}

error tls_session::failure() const {
  std::string words = openssl_words();
  const auto verified = SSL_get_verify_result(session_.get());
  if (verified != X509_V_OK) words = X509_verify_cert_error_string(verified);
  return {errc::broker_unreachable, "TLS failed: " + words};
}

result<bool> tls_session::shake_hands() {
  ERR_clear_error();
  const int done = SSL_do_handshake(session_.get());
  if (done == 1) return true;
  if (SSL_get_error(session_.get(), done) == SSL_ERROR_WANT_READ) return false;
  return failure();
}

void tls_session::take(std::string_view bytes) {
  BIO_write(arrived_, bytes.data(), size_of(bytes.size()));
}

result<std::size_t> tls_session::read(std::span<char> buffer) {
  ERR_clear_error();
  const int count = SSL_read(session_.get(), buffer.data(), size_of(buffer.size()));
  if (count > 0) return static_cast<std::size_t>(count);
  switch (SSL_get_error(session_.get(), count)) {
    case SSL_ERROR_WANT_READ:
      return std::size_t{0};
    case SSL_ERROR_ZERO_RETURN:
      return error(errc::broker_unreachable, "the broker closed the connection");
    default:
      return failure();
  }
}

bool tls_session::write(std::string_view bytes) {
  ERR_clear_error();
  while (!bytes.empty()) {
    const int count = SSL_write(session_.get(), bytes.data(), size_of(bytes.size()));
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void tls_session::move_outgoing(std::string& out) {
  std::array<char, 16'384> part;
  int count = 0;
  while ((count = BIO_read(outgoing_, part.data(), size_of(part.size()))) > 0) {
    out.append(part.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace onceguard::messaging::mqtt
