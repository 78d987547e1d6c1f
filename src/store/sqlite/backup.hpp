// A copy of a store as one file, and a store made of such a copy.
#pragma once
#include <string>

#include <onceguard/error.hpp>

#include "store/sqlite/sqlite_params.hpp"

namespace onceguard::sqlite {

/// Writes what the store holds now into the new file `to`, whole and on the disk, or not at all.
/// Others may go on writing meanwhile. errc::conflict: there is such a file.
[[nodiscard]] result<void> back_up(const sqlite_params& sqlite, const std::string& text);

/// Puts what is in `from` in the place of the store, which nobody may have open (errc::conflict).
/// It gets a new identity: to whoever knew the store this is a loss of memory.
/// errc::not_found, errc::invalid_argument: `from` is not there, or no sound store.
/// @return the name that the former file has now; empty where there was none.
[[nodiscard]] result<std::string> restore(const sqlite_params& sqlite, const std::string& source);

}  // namespace onceguard::sqlite
