// HTTP requests and answers as plain values, and the routes that they are matched with.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/field.hpp>
#include <onceguard/policy.hpp>
#include <onceguard/record.hpp>

namespace onceguard::http {
inline namespace v1 {

/// A request, as views.
struct request {
  std::string_view method;          ///< as sent: "POST"
  std::string_view target;          ///< as sent: "/payments?dry=1"
  std::span<const field> fields;    ///< the header
  std::string_view client_address;  ///< without the port; if trusted proxies forwarded the request,
                                    ///< the client's
  std::string_view body{};          ///< the whole body
  /// SHA-256 of the certificate that the client has shown, in hex; empty: none. With the scope
  /// `credential` it tells callers apart who send no Authorization.
  std::string_view client_certificate{};
  /// Whether somebody has verified the Authorization: the service itself, or a trusted proxy. A
  /// scope `auth_param` needs that.
  bool credential_verified = false;
};

/// An answer; the framework frames it, so it has no Content-Length.
using response = answer;

/// Whether an answer of this status ends with its header: 1xx, 204, 205 and 304 (RFC 9110, 15.2,
/// 15.3.5, 15.3.6 and 15.4.5).
[[nodiscard]] constexpr bool has_no_body(std::uint16_t status) noexcept {
  return status < 200 || status == 204 || status == 205 || status == 304;
}

/// The same, as views.
struct answer_view {
  std::uint16_t status = 200;     ///< 200 …
  std::span<const field> fields;  ///< the header
  /// Empty: a stream or a file, whose length is not known or over the limit. Its status counts, and
  /// a repeat gets 409 answer-not-kept.
  std::optional<std::string_view> body;
};

/// Of the routes whose host and method fit, the one with the longest path counts. At equal length,
/// a route with a host precedes one without, then a route with methods one without.
struct route {
  std::string host;                 ///< lower case, without port; empty: any
  std::string path = "/";           ///< a normalised prefix that ends at a segment boundary
  std::vector<std::string> method;  ///< empty: any
  route_policy policy;              ///< the rules for its requests
};

}  // namespace v1
}  // namespace onceguard::http
