// Files with secrets.
#pragma once
#include <string>

#include <onceguard/error.hpp>

namespace onceguard {

/// The file's bytes. The error begins with the path: no such file, or others than its owner and
/// group may read or write it.
[[nodiscard]] result<std::string> read_private_file(const std::string& path, std::size_t size_max);

}  // namespace onceguard
