// How generously servers read a path.
#pragma once
#include <string>
#include <string_view>

namespace onceguard::http {

/// Whether a server may take `path`, which is raw, for `route` or something below it: some compare
/// without case, decode twice, drop spaces, dots and parameters, or take ".json" for a format.
/// `route` is a normalised path of at least one segment.
[[nodiscard]] bool may_be_read_as(std::string_view path, std::string_view route);

}  // namespace onceguard::http
