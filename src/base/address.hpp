// Addresses and http:// URLs: of listeners, upstreams, probes. This is their one reader.
#pragma once
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

namespace onceguard::tls {
struct client_settings;
}  // namespace onceguard::tls

namespace onceguard::base {

/// A numeric address or host name, and a port.
struct endpoint {
  std::string host;
  std::uint16_t port = 0;
  bool secure = false;                                ///< TLS is spoken there
  std::shared_ptr<const tls::client_settings> tls{};  ///< secure: how; null: as usual
  friend auto operator<=>(const endpoint&, const endpoint&) = default;
};

/// Host and port; an IPv6 address stands in brackets (RFC 3986 section 3.2.2). `missing_port` is
/// the port of a text without one, if the text may omit the port. Empty: the text is neither.
[[nodiscard]] std::optional<endpoint> parse_authority(std::string_view text,
                                                      std::optional<std::uint16_t> missing_port);

/// The opposite of parse_authority(): without the port if it is the scheme's default, 80 or 443.
[[nodiscard]] std::string authority_of(const endpoint& endpoint);

/// "127.0.0.1:8080", "[::1]:8080", "localhost:0". The error says what was expected.
[[nodiscard]] result<endpoint> parse_endpoint(std::string_view text);

/// As parse_endpoint() reads it.
[[nodiscard]] std::string text_of(const endpoint& endpoint);

struct http_url {
  endpoint address;
  std::string path;  ///< with the query, as written; empty or beginning with a slash
};
/// "http://host[:port][/path]" in printable ASCII, without user or fragment. The error says what
/// was expected.
[[nodiscard]] result<http_url> parse_http_url(std::string_view text);
/// The same, or "https://…": then the address is secure.
[[nodiscard]] result<http_url> parse_web_url(std::string_view text);

/// A TCP endpoint, or the path of a Unix socket.
struct server_address {
  endpoint tcp;
  std::string socket_path;  ///< empty: TCP
  [[nodiscard]] bool is_socket() const noexcept { return !socket_path.empty(); }
  /// Whether only this machine reaches it: a Unix socket, or a loopback address.
  [[nodiscard]] bool is_local() const;
  /// Whether a listener at `other` takes this address too, as far as the texts tell: another name
  /// of the same machine is not known.
  [[nodiscard]] bool overlaps(const endpoint& other) const;
  /// As in the configuration: "127.0.0.1:8081", "unix:/run/onceguard/admin.sock".
  [[nodiscard]] std::string text() const;
};

/// The error says what was expected.
[[nodiscard]] result<server_address> parse_server_address(std::string_view text);

}  // namespace onceguard::base
