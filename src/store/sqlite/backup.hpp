// Backs up a SQLite store into one file, and restores a store from such a file.
#pragma once
#include <string>

#include <onceguard/error.hpp>

#include "store/sqlite/sqlite_params.hpp"

namespace onceguard::sqlite {

/// Writes a consistent copy of the store into the new file `target`: complete and flushed to the
/// disk, or not at all. Other processes may go on writing meanwhile. errc::conflict: the file
/// exists already.
[[nodiscard]] result<void> back_up(const sqlite_params& sqlite, const std::string& target);

/// Reads all of a copy, and says how many keys it has. errc::not_found: there is no such file.
/// errc::invalid_argument: it is no sound copy.
[[nodiscard]] result<std::string> check_copy(const std::string& path);

/// Replaces the store by the copy in the file `source`. No process may have the store open
/// (errc::conflict). The store gets a new identity: processes that knew the store see a loss of
/// memory. errc::not_found: there is no file `source`. errc::invalid_argument: `source` is no sound
/// store.
/// @return the new name of the former store file; empty if there was none.
[[nodiscard]] result<std::string> restore(const sqlite_params& sqlite, const std::string& source);

}  // namespace onceguard::sqlite
