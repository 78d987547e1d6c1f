// Examines a SQLite store's file and the place where it lies.
#pragma once
#include "base/diagnosis.hpp"
#include "store/sqlite/sqlite_params.hpp"

namespace onceguard::sqlite {

/// Blocks, for up to `params.timeout`. Makes no file, and leaves the schema of an older one alone.
[[nodiscard]] base::diagnoses examine(const sqlite_params& params);

}  // namespace onceguard::sqlite
