// What the SQLite store is opened with.
#pragma once
#include <cstddef>
#include <string>

#include <onceguard/record.hpp>

#include "base/clock.hpp"

namespace onceguard::sqlite {

struct sqlite_params {
  std::string path;
  milliseconds timeout{2'000};  ///< bounds the opening: how long another process may hold the lock
  const base::clock* clock = &base::system_clock();
  const char* vfs = nullptr;        ///< SQLite's own name of the file layer; null: the usual one
  std::size_t batch_max = 256;      ///< items per transaction; the lock is given up in between
  int checkpoint_pages = 32'000;    ///< move the log into the file from this length on
  std::int64_t page_count_max = 0;  ///< 0: SQLite's own limit
};

}  // namespace onceguard::sqlite
