#include "store/sqlite/statistics.hpp"

#include <sqlite3.h>

namespace onceguard::sqlite {

void count_no_memory() noexcept {
  // Fails where SQLite is in use already: the count then costs time and nothing else.
  static_cast<void>(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0));
}

const char* library_version() noexcept { return sqlite3_libversion(); }

}  // namespace onceguard::sqlite
