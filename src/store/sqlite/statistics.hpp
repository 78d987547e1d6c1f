// Settings and facts of SQLite that hold for the whole process.
#pragma once

namespace onceguard::sqlite {

/// Stops SQLite's count of its memory, for which SQLite takes a lock at each allocation. For
/// programs that use SQLite through this code only, as the setting holds for the whole process.
/// Call it before any other function of SQLite, while there is one thread; later calls have no
/// effect.
void count_no_memory() noexcept;

/// The version of the library that runs, not of the one that this program was built with.
[[nodiscard]] const char* library_version() noexcept;

}  // namespace onceguard::sqlite
