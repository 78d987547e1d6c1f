// The settings of TLS for all connections of one kind: certificates, keys, versions, ciphers.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include <onceguard/error.hpp>

// NOLINTNEXTLINE(readability-identifier-naming): the name that OpenSSL has
using SSL_CTX = struct ssl_ctx_st;

namespace onceguard::tls {

/// Shared by the connections that were made with it.
using context = std::shared_ptr<SSL_CTX>;

/// PEM files of a listener.
struct server_files {
  std::string certificate;  ///< with its chain
  std::string key;
  std::string client_ca;       ///< empty: no certificate is asked for
  bool require_client = true;  ///< refuse a client without a certificate
  friend bool operator==(const server_files&, const server_files&) = default;
};

/// PEM files of a client.
struct client_files {
  std::string ca;           ///< empty: the system's
  std::string certificate;  ///< empty: none
  std::string key;
  std::string name;    ///< that the server's certificate must have; empty: the host's
  bool verify = true;  ///< false: anybody may be the server
  friend bool operator==(const client_files&, const client_files&) = default;
};

/// How an upstream is spoken to.
struct client_settings {
  tls::context context;
  std::string name;      ///< empty: the host's
  client_files files{};  ///< what the context was made of
};

/// TLS 1.2 and 1.3 with forward secrecy and authenticated encryption alone; HTTP/1.1 by ALPN; no
/// early data, compression or renegotiation. The error names the file and what is wrong with it.
[[nodiscard]] result<context> make_server_context(const server_files& files);
/// What a client says that it speaks (ALPN).
enum class protocol : std::uint8_t {
  http,   ///< HTTP/1.1
  other,  ///< nothing: the protocols of brokers have no such name
};
/// The same for a client.
[[nodiscard]] result<context> make_client_context(const client_files& files,
                                                  protocol spoken = protocol::http);

/// When the first certificate of the PEM file ends, in seconds since 1970. The error says why the
/// file can't be used.
[[nodiscard]] result<long long> end_of_certificate(const std::string& file);

}  // namespace onceguard::tls
