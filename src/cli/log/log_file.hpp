// Where the log goes.
#pragma once
#include <optional>
#include <string>

#include <onceguard/error.hpp>

#include "config/settings.hpp"
#include "config/table/remark.hpp"

namespace onceguard::cli::log {

/// Opens the file to append, and makes it if there is none: for its owner and group alone, as it
/// names clients. Returns the descriptor, which the caller closes. A FIFO that nobody reads is an
/// error, and not waited for. The error is errc::invalid_argument, without the path.
[[nodiscard]] result<int> open_log_file(const std::string& path);

/// Where the log goes: standard error, or the file. Empty, with a message on standard error: the
/// file can't be opened.
[[nodiscard]] std::optional<int> log_descriptor(const config::log_params& params);

/// Logs what the configuration's check has to say, less the notes.
void log_remarks(const config::remarks& remarks);

}  // namespace onceguard::cli::log
