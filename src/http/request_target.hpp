// Request targets and paths (RFC 3986): split, and normalised for matching only. The upstream
// always gets the client's bytes.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onceguard::http {

/// Bytes of a target whose other readings are looked for, which takes time by its length. RFC 9110
/// section 4.1 asks for 8,000; most servers take no more than 16 KiB.
inline constexpr std::size_t longest_target = 64 * 1024;

struct target_parts {
  std::string_view path;                  ///< raw; "/" for an absolute form without a path
  std::optional<std::string_view> query;  ///< raw, without the question mark
};

/// Origin form ("/a?b"), absolute form ("http://host/a?b") or asterisk form.
[[nodiscard]] target_parts split_target(std::string_view target) noexcept;

/// Resolves dot segments, decodes unreserved characters and writes other escapes in upper case.
/// Keeps repeated slashes.
[[nodiscard]] std::string normalise_path(std::string_view path);

/// The normalised path for routing. A request to the server as a whole ("OPTIONS *") is routed like
/// "/".
[[nodiscard]] std::string path_to_match(std::string_view target);

/// "OPTIONS *", or OPTIONS with an absolute form that ends with the authority, which has the same
/// meaning (RFC 9112 section 3.2.4).
[[nodiscard]] bool concerns_whole_server(std::string_view method, std::string_view target) noexcept;

/// Whether another server could interpret this raw path differently from normalise_path(). Never a
/// false "no".
[[nodiscard]] bool has_other_readings(std::string_view path) noexcept;

/// The normalised paths that other servers may make of this raw path: by decoding once or twice
/// more, by taking a backslash for a slash, by dropping the parameters of segments, by merging
/// slashes, by ending at an escaped NUL, question mark or hash, in any order. Empty optional: more
/// paths than a legitimate path has.
[[nodiscard]] std::optional<std::vector<std::string>> other_readings(std::string_view path);

/// Whether the path has a %2F, %5C or %00. Servers disagree about their meaning.
[[nodiscard]] bool has_ambiguous_escape(std::string_view path) noexcept;

/// Whether `prefix` (normalised) is a prefix of the normalised path that ends at a segment
/// boundary.
[[nodiscard]] bool path_matches(std::string_view prefix, std::string_view path) noexcept;

/// Whether a server may take `path`, which is raw, for `route` or something below it: some compare
/// without case, decode twice, drop spaces, dots and parameters, or take ".json" for a format.
/// `route` is a normalised path of at least one segment.
[[nodiscard]] bool may_be_read_as(std::string_view path, std::string_view route);

}  // namespace onceguard::http
