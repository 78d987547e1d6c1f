// Request targets and paths (RFC 3986): split, and normalised for matching only. The bytes that
// go upstream are always the client's.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onceguard::http {

struct target_parts {
  std::string_view path;   ///< raw; "/" for an absolute form without one
  std::string_view query;  ///< raw, without the question mark
};

/// Origin form ("/a?b"), absolute form ("http://host/a?b") or asterisk form.
[[nodiscard]] target_parts split_target(std::string_view target) noexcept;

/// Dot segments resolved, unreserved characters decoded, other escapes in upper case, repeated
/// slashes kept.
[[nodiscard]] std::string normalise_path(std::string_view path);

/// The normalised path that a request is routed by. What is asked of the server as a whole
/// ("OPTIONS *") belongs to "/": to what serves all that nothing else does.
[[nodiscard]] std::string path_to_match(std::string_view target);

/// "OPTIONS *", or OPTIONS with an absolute form that ends with the authority, which means the same
/// (RFC 9112 section 3.2.4).
[[nodiscard]] bool concerns_whole_server(std::string_view method, std::string_view target) noexcept;

/// Could another server read this raw path otherwise than normalise_path() does? No false "no".
[[nodiscard]] bool has_other_readings(std::string_view path) noexcept;

/// The normalised paths that others may make of this raw path: by decoding once more (or twice), by
/// taking a backslash for a slash, by dropping the parameters of segments, by merging slashes, by
/// ending at a NUL, question mark or hash that was escaped, in any order. None: more than a path in
/// earnest has.
[[nodiscard]] std::optional<std::vector<std::string>> other_readings(std::string_view path);

/// Is there a %2F, %5C or %00 in the path? Servers disagree on what those mean.
[[nodiscard]] bool has_ambiguous_escape(std::string_view path) noexcept;

/// Is `prefix` (normalised) a prefix of the normalised path that ends at a segment's border?
[[nodiscard]] bool path_matches(std::string_view prefix, std::string_view path) noexcept;

}  // namespace onceguard::http
