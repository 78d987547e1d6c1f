// The file of `[gateway] log_file`.
#pragma once
#include <string>

#include <onceguard/error.hpp>

namespace onceguard::cli {

/// Opens the file to append, and makes it if there is none: for its owner and group alone, as it
/// names clients. Returns the descriptor, which the caller closes. A FIFO that nobody reads is an
/// error, and not waited for. The error is errc::invalid_argument, without the path.
[[nodiscard]] result<int> open_log_file(const std::string& path);

}  // namespace onceguard::cli
