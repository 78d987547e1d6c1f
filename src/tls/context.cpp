#include "tls/context.hpp"

#include <array>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "base/file_text.hpp"
#include "base/unique_handle.hpp"

namespace onceguard::tls {
namespace {

/// Of TLS 1.2: each with forward secrecy and AEAD (RFC 9325, section 4.2). Those of TLS 1.3 are all
/// as strong.
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

// OpenSSL opens files itself, and would wait for the writer of a pipe. So it gets their bytes.

constexpr std::size_t file_size_max = 4u << 20;

using bio_ptr = base::unique_handle<BIO, BIO_free>;
using certificate_ptr = base::unique_handle<X509, X509_free>;

result<std::string> pem_text(const std::string& path) {
  auto text = base::read_file(path, file_size_max);
  if (!text) return error(errc::invalid_argument, path + ": " + text.error().detail);
  return text;
}

bio_ptr input_of(const std::string& text) {
  return bio_ptr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

/// A key that asks for a password would read it from the terminal.
int no_password(char*, int, int, void*) { return 0; }

certificate_ptr next_certificate(BIO* input) {
  return certificate_ptr(PEM_read_bio_X509(input, nullptr, no_password, nullptr));
}

/// Whether a reader of PEM ended because nothing more is there.
bool at_end_of_pem() {
  const bool end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (end) ERR_clear_error();
  return end;
}

/// The certificate, and those of the authorities between it and one that is trusted.
result<void> take_chain(SSL_CTX* made, const std::string& path) {
  const auto text = pem_text(path);
  if (!text) return text.error();
  const auto input = input_of(*text);
  const auto first = next_certificate(input.get());
  if (!first || SSL_CTX_use_certificate(made, first.get()) != 1) return wrong_file(path);
  SSL_CTX_clear_chain_certs(made);
  while (auto next = next_certificate(input.get())) {
    if (SSL_CTX_add0_chain_cert(made, next.get()) != 1) return wrong_file(path);
    static_cast<void>(next.release());
  }
  if (!at_end_of_pem()) return wrong_file(path);
  return {};
}

result<void> take_key(SSL_CTX* made, const std::string& path) {
  const auto text = pem_text(path);
  if (!text) return text.error();
  const base::unique_handle<EVP_PKEY, EVP_PKEY_free> key(
      PEM_read_bio_PrivateKey(input_of(*text).get(), nullptr, no_password, nullptr));
  if (!key || SSL_CTX_use_PrivateKey(made, key.get()) != 1) return wrong_file(path);
  return {};
}

/// Trusts the certificates of a file, with its revocation lists; `names`, if not null, gets whom
/// they are of.
result<void> take_authorities(SSL_CTX* made, const std::string& path, STACK_OF(X509_NAME) * names) {
  const auto text = pem_text(path);
  if (!text) return text.error();
  const auto free_all = [](STACK_OF(X509_INFO) * all) {
    sk_X509_INFO_pop_free(all, X509_INFO_free);
  };
  const std::unique_ptr<STACK_OF(X509_INFO), decltype(free_all)> all(
      PEM_X509_INFO_read_bio(input_of(*text).get(), nullptr, no_password, nullptr), free_all);
  if (!all) return wrong_file(path);
  auto* const store = SSL_CTX_get_cert_store(made);
  bool any = false;
  for (int i = 0; i < sk_X509_INFO_num(all.get()); ++i) {
    const auto* one = sk_X509_INFO_value(all.get(), i);
    if (one->crl != nullptr && X509_STORE_add_crl(store, one->crl) != 1) return wrong_file(path);
    if (one->x509 == nullptr) continue;
    any = true;
    if (X509_STORE_add_cert(store, one->x509) != 1) return wrong_file(path);
    if (names == nullptr) continue;
    auto* const name = X509_NAME_dup(X509_get_subject_name(one->x509));
    if (name == nullptr || sk_X509_NAME_push(names, name) == 0) return wrong_file(path);
  }
  if (!any) return error(errc::invalid_argument, path + ": holds no certificate");
  return {};
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
  // Compression betrays what is encrypted (RFC 9325, section 3.3); a renegotiation could change
  // whose connection it is.
  SSL_CTX_set_options(made.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  // A write that is repeated comes from another address, as buffers grow; idle connections give
  // their 34 kB back (OpenSSL, SSL_CTX_set_mode).
  SSL_CTX_set_mode(made.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                   SSL_MODE_RELEASE_BUFFERS);
  // Else each record takes two reads of the socket. So bytes may wait within OpenSSL where the
  // socket has none: a reader goes on until OpenSSL wants more.
  SSL_CTX_set_read_ahead(made.get(), 1);
  return made;
}

result<void> take_identity(SSL_CTX* made, const std::string& certificate, const std::string& key) {
  if (auto taken = take_chain(made, certificate); !taken) return taken;
  if (auto taken = take_key(made, key); !taken) return taken;
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
  // Without it, a client that resumes a session and has a certificate is refused (OpenSSL,
  // SSL_CTX_set_session_id_context).
  constexpr std::string_view session_name = "onceguard";
  SSL_CTX_set_session_id_context(made.get(),
                                 reinterpret_cast<const unsigned char*>(session_name.data()),
                                 static_cast<unsigned>(session_name.size()));
  if (files.client_ca.empty()) return made;
  auto* const names = sk_X509_NAME_new_null();
  if (names == nullptr) return error(errc::invalid_argument, "no memory for TLS");
  SSL_CTX_set_client_CA_list(made.get(), names);  // which owns them now
  if (auto taken = take_authorities(made.get(), files.client_ca, names); !taken) {
    return taken.error();
  }
  const int mode =
      files.require_client ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT : SSL_VERIFY_PEER;
  SSL_CTX_set_verify(made.get(), mode, nullptr);
  return made;
}

result<context> make_client_context(const client_files& files, protocol spoken) {
  ERR_clear_error();
  auto made = with_common_settings(TLS_client_method());
  if (!made) return error(errc::invalid_argument, "no memory for TLS");
  SSL_CTX_set_verify(made.get(), files.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (spoken == protocol::http) {
    SSL_CTX_set_alpn_protos(made.get(), http11.data(), http11.size());
  }
  if (files.ca.empty()) {
    SSL_CTX_set_default_verify_paths(made.get());
  } else if (auto taken = take_authorities(made.get(), files.ca, nullptr); !taken) {
    return taken.error();
  }
  if (files.certificate.empty()) return made;
  if (auto taken = take_identity(made.get(), files.certificate, files.key); !taken) {
    return taken.error();
  }
  return made;
}

result<long long> end_of_certificate(const std::string& file) {
  ERR_clear_error();
  const auto text = pem_text(file);
  if (!text) return text.error();
  const auto certificate = next_certificate(input_of(*text).get());
  if (!certificate) return wrong_file(file);
  std::tm parts{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &parts) != 1) return wrong_file(file);
  return static_cast<long long>(timegm(&parts));
}

}  // namespace onceguard::tls
