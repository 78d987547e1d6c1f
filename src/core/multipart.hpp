// The parts of a multipart body (RFC 2046 section 5.1; RFC 7578 for forms).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onceguard::core {

struct multipart {
  std::string type;        ///< "multipart/form-data" …, in lower case
  std::string parameters;  ///< of the content type, without the boundary
  /// What stands before the first part, each part with its header, and what stands behind the last:
  /// the bytes of the body without its delimiters. The views are those of the body.
  std::vector<std::string_view> pieces;
};

/// Empty: the content type is another one, or the body is not well-formed. Nothing of a well-formed
/// body is left out but the delimiters, so two bodies with the same pieces differ in nothing else.
[[nodiscard]] std::optional<multipart> cut_multipart(std::string_view content_type,
                                                     std::string_view body);

}  // namespace onceguard::core
