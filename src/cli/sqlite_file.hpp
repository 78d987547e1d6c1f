// Finds the file of a SQLite store, for commands that work on files.
#pragma once
#include <optional>

#include "config/settings.hpp"
#include "store/sqlite/sqlite_params.hpp"

namespace onceguard::cli {

/// Empty, with a message on standard error, if the store is of another kind.
[[nodiscard]] std::optional<sqlite::sqlite_params> sqlite_file(const config::settings& settings);

}  // namespace onceguard::cli
