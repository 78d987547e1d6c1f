// What is SQLite's for the whole process.
#pragma once

namespace onceguard::sqlite {

/// SQLite no longer counts the memory that it has, for which it takes a lock at each allocation.
/// For a program whose only use of SQLite is ours: it holds for the whole process. To be called
/// before anything of SQLite's, while there is one thread; later it does nothing.
void count_no_memory() noexcept;

/// Of the library that runs, not of the one that this was built with.
[[nodiscard]] const char* library_version() noexcept;

}  // namespace onceguard::sqlite
