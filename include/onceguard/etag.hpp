// Entity tags (RFC 9110, 8.8.3): what a client names the version by that it has seen.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

namespace onceguard::http {
inline namespace v1 {

/// An entity tag. A strong one changes with every byte of the representation, so an answer that is
/// compressed has another one than the same answer uncompressed.
struct etag {
  std::string opaque;  ///< what stands between the quotes
  bool weak = false;   ///< `W/"…"`

  /// As it stands in a field: `"7"`, `W/"7"`.
  [[nodiscard]] std::string text() const;
  /// Equal in both members: not one of the two comparisons of RFC 9110.
  friend bool operator==(const etag&, const etag&) = default;
};

/// The strong tag of a version that no earlier state of the resource had: `"7"`. A row that is
/// deleted and made again must not begin anew at 1, or an old tag fits again.
[[nodiscard]] etag make_etag(std::int64_t version);

/// Parses one tag, such as the value of `ETag`. errc::invalid_argument with a detail of what is
/// wrong, and the byte where it is, counted from 1. The detail never contains the value.
[[nodiscard]] result<etag> parse_etag(std::string_view text);

/// RFC 9110, 8.8.3.2: equal, and neither is weak. For `If-Match`.
[[nodiscard]] bool strongly_equal(const etag& one, const etag& other) noexcept;
/// RFC 9110, 8.8.3.2: equal, whether weak or not. For `If-None-Match`.
[[nodiscard]] bool weakly_equal(const etag& one, const etag& other) noexcept;

/// The value of `If-Match` or `If-None-Match`.
struct etag_condition {
  bool any = false;        ///< `*`: whatever is there
  std::vector<etag> tags;  ///< else: one of these, at least one
};

/// Parses the value of `If-Match` or `If-None-Match`; several field lines are joined by commas
/// before. Errors as for parse_etag. A value without any tag is an error too: it comes from a
/// client that has lost its tag, and would otherwise mean no condition at all.
[[nodiscard]] result<etag_condition> parse_etag_condition(std::string_view value);

}  // namespace v1
}  // namespace onceguard::http
