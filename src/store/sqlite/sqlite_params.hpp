// The parameters with which the SQLite store is opened.
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
  const char* vfs = nullptr;           ///< SQLite's name of the file layer; null: the default one
  std::size_t batch_max = 256;         ///< items per transaction; the lock is released in between
  int checkpoint_pages = 32'000;       ///< length of the write-ahead log that starts a checkpoint
  milliseconds recreate_after{5'000};  ///< how long a file must be missing before a process that
                                       ///< had the file open creates another one
  std::int64_t keep_log_below = 0;     ///< bytes of a write-ahead log that its last process leaves
                                       ///< where it is, instead of moving it into the file
  std::int64_t page_count_max = 0;     ///< limit of the file's size; 0: SQLite's own
  bool for_people = false;             ///< what is read is shown to a person: see session_use::show
};

}  // namespace onceguard::sqlite
