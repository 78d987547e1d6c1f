// The one reader of addresses and http:// URLs: of listeners, upstreams and probes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

#include "gateway/params/gateway_params.hpp"

namespace onceguard::gateway {

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

}  // namespace onceguard::gateway
