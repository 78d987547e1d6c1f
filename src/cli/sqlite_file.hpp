// The file of a store that is one, for commands that work on files.
#pragma once
#include <optional>

#include "config/settings.hpp"
#include "store/sqlite/sqlite_params.hpp"

namespace onceguard::cli {

/// None, and a word on standard error, where the store is of another kind.
[[nodiscard]] std::optional<sqlite::sqlite_params> sqlite_file(const config::settings& settings);

}  // namespace onceguard::cli
