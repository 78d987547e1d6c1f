// Where a path leads.
#pragma once
#include <filesystem>
#include <string>
#include <system_error>

namespace onceguard::base {

/// The absolute path without links of a file that need not be there yet, in a folder that need not,
/// either. A link to a file that is not there leads to where that file would be made. `failed`: a
/// part of the path can't be read, or the file has no name, as a pipe.
[[nodiscard]] std::filesystem::path resolved_path(const std::string& path, std::error_code& failed);

}  // namespace onceguard::base
