// Parsers for values written by people: durations, sizes, URLs, paths, scopes. Each parser
// returns the value, or errc::invalid_argument with a detail of what was expected and what was
// found.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/policy.hpp>

#include "base/address.hpp"
#include "base/value_text.hpp"
#include "config/table/quoted.hpp"

namespace onceguard::config {

using base::duration_text;
using base::parse_duration;
using base::parse_size;
using base::size_text;

/// "http://host[:port][/path]" in printable ASCII, without user or fragment.
[[nodiscard]] result<base::http_url> parse_http_url(std::string_view text);

/// The same, or "https://…".
[[nodiscard]] result<base::http_url> parse_web_url(std::string_view text);

/// A route's host: a name or an address without a port, in lower case.
[[nodiscard]] result<std::string> parse_route_host(std::string_view text);
/// A route's path: absolute, already normalised, without query. A final slash is dropped.
[[nodiscard]] result<std::string> parse_route_path(std::string_view text);

/// "credential", "header:NAME", "cookie:NAME", "jwt:CLAIM", "auth-param:NAME,NAME", "address",
/// "none"; several of them, of which none is "none", joined by " + ".
[[nodiscard]] result<scope_rule> parse_scope(std::string_view text);
/// The rule that takes all of these together. Each must be valid by itself.
[[nodiscard]] result<scope_rule> join_scopes(const std::vector<std::string>& texts);
/// A scheme of Authorization whose value may be the same for each try.
[[nodiscard]] result<std::string> parse_credential_scheme(std::string_view text);

/// "Idempotency-Key" or another name of a header field, "path:2", "content".
[[nodiscard]] result<key_source> parse_key_source(std::string_view text);

/// "X-Region", or "-Host" for a header that does not count: "+x-region", "-host".
[[nodiscard]] result<std::string> parse_counting_header(std::string_view text);

/// The message with which a parser refuses a text; empty if the parser accepts the text.
template <auto Reader>
[[nodiscard]] std::string refusal_of(std::string_view text) {
  const auto read = Reader(text);
  return read ? std::string() : read.error().detail;
}

/// A request method in capitals.
[[nodiscard]] result<std::string> parse_method(std::string_view text);

/// The known word that a mistyped word most likely means; empty if none is similar.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> known);

/// "127.0.0.1:8080", "[::1]:8080", "localhost:0".
[[nodiscard]] result<base::endpoint> parse_endpoint(std::string_view text);

/// An address, or a block in CIDR notation.
[[nodiscard]] result<std::string> parse_network(std::string_view text);

}  // namespace onceguard::config
