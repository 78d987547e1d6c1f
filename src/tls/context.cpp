#include "tls/context.hpp"

#include <array>
#include <ctime>
#include <string_view>
#include <system_error>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

namespace onceguard::tls {
namespace {

/// Of TLS 1.2; those of TLS 1.3 are all as strong.
constexpr const char* ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr std::array<unsigned char, 9> http11{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

/// The last error of OpenSSL's on this thread, for people.
std::string openssl_reason() {
  // The first error of several has the cause, if that is the system's.
  const auto first = ERR_peek_error();
  const auto code = ERR_peek_last_error();
  ERR_clear_error();
  if (ERR_SYSTEM_ERROR(first)) return std::generic_category().message(ERR_GET_REASON(first));
  const char* const reason = ERR_reason_error_string(code);
  return reason == nullptr ? "no reason is known" : reason;
}

error wrong_file(std::string_view path) {
  return {errc::invalid_argument, std::string(path) + ": " + openssl_reason()};
}

/// Takes HTTP/1.1, also from a client that would rather speak something else; refuses one that
/// speaks nothing that is offered (RFC 7301 section 3.2).
int select_protocol(SSL*, const unsigned char** out, unsigned char* size,
                    const unsigned char* offered, unsigned offered_size, void*) {
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, size, http11.data(), http11.size(), offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

context with_common_settings(const SSL_METHOD* method) {
  context made(SSL_CTX_new(method), SSL_CTX_free);
  if (!made) return made;
  SSL_CTX_set_min_proto_version(made.get(), TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(made.get(), ciphers);
  SSL_CTX_set_options(made.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(made.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                   SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(made.get(), 1);
  return made;
}

result<void> take_identity(SSL_CTX* made, const std::string& certificate, const std::string& key) {
  if (SSL_CTX_use_certificate_chain_file(made, certificate.c_str()) != 1) {
    return wrong_file(certificate);
  }
  // A key that asks for a password would read it from the terminal.
  SSL_CTX_set_default_passwd_cb(made, [](char*, int, int, void*) { return 0; });
  if (SSL_CTX_use_PrivateKey_file(made, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return wrong_file(key);
  }
  if (SSL_CTX_check_private_key(made) != 1) {
    return error(errc::invalid_argument, key + ": is not the key of " + certificate);
  }
  return {};
}

}  // namespace

result<context> make_server_context(const server_files& files) {
  ERR_clear_error();
  auto made = with_common_settings(TLS_server_method());
  if (!made) return error(errc::invalid_argument, "no memory for TLS");
  if (auto taken = take_identity(made.get(), files.certificate, files.key); !taken) {
    return taken.error();
  }
  SSL_CTX_set_options(made.get(), SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_alpn_select_cb(made.get(), select_protocol, nullptr);
  SSL_CTX_set_num_tickets(made.get(), 1);
  constexpr std::string_view session_name = "onceguard";
  SSL_CTX_set_session_id_context(made.get(),
                                 reinterpret_cast<const unsigned char*>(session_name.data()),
                                 static_cast<unsigned>(session_name.size()));
  if (files.client_ca.empty()) return made;
  if (SSL_CTX_load_verify_locations(made.get(), files.client_ca.c_str(), nullptr) != 1) {
    return wrong_file(files.client_ca);
  }
  auto* const names = SSL_load_client_CA_file(files.client_ca.c_str());
  if (names == nullptr) return wrong_file(files.client_ca);
  SSL_CTX_set_client_CA_list(made.get(), names);
  const int mode =
      files.require_client ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT : SSL_VERIFY_PEER;
  SSL_CTX_set_verify(made.get(), mode, nullptr);
  return made;
}

result<context> make_client_context(const client_files& files) {
  ERR_clear_error();
  auto made = with_common_settings(TLS_client_method());
  if (!made) return error(errc::invalid_argument, "no memory for TLS");
  SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_alpn_protos(made.get(), http11.data(), http11.size());
  if (files.ca.empty()) {
    SSL_CTX_set_default_verify_paths(made.get());
  } else if (SSL_CTX_load_verify_locations(made.get(), files.ca.c_str(), nullptr) != 1) {
    return wrong_file(files.ca);
  }
  if (files.certificate.empty()) return made;
  if (auto taken = take_identity(made.get(), files.certificate, files.key); !taken) {
    return taken.error();
  }
  return made;
}

result<long long> end_of_certificate(const std::string& file) {
  ERR_clear_error();
  const std::unique_ptr<BIO, int (*)(BIO*)> input(BIO_new_file(file.c_str(), "r"), BIO_free);
  if (!input) return wrong_file(file);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(
      PEM_read_bio_X509(input.get(), nullptr, nullptr, nullptr), X509_free);
  if (!certificate) return wrong_file(file);
  std::tm parts{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &parts) != 1) return wrong_file(file);
  return static_cast<long long>(timegm(&parts));
}

}  // namespace onceguard::tls
