#include "store/sqlite/wal_index.hpp"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace onceguard::sqlite {
namespace {

// The header of the WAL index, after walformat.html of SQLite's documentation, in words of 32 bits.
constexpr int index_region = 32'768;
constexpr std::size_t frames_word = 16 / 4;
constexpr std::size_t salts_word = 32 / 4;
constexpr std::size_t second_copy = 48 / 4;
constexpr std::size_t moved_word = 96 / 4;
constexpr int checkpoint_lock = 1;

struct wal_index {
  bool failed = false;                      ///< there may be one, and it can't be mapped
  std::uint32_t volatile* words = nullptr;  ///< its beginning in memory; null: there is none
  sqlite3_file* file = nullptr;             ///< the database, which has the locks of the index

  [[nodiscard]] std::uint32_t word(std::size_t number) const noexcept {
    return __atomic_load_n(words + number, __ATOMIC_ACQUIRE);
  }
  [[nodiscard]] std::array<unsigned char, 8> salts(std::size_t copy = 0) const noexcept {
    std::array<unsigned char, 8> out{};
    for (std::size_t i = 0; i < 2; ++i) {
      const std::uint32_t part = word(copy + salts_word + i);
      std::memcpy(out.data() + i * sizeof(part), &part, sizeof(part));
    }
    return out;
  }
};

wal_index index_of(connection& connection) noexcept {
  sqlite3_file* file = nullptr;
  const int found =
      sqlite3_file_control(connection.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (found != SQLITE_OK || file->pMethods == nullptr) return {true, nullptr, nullptr};
  if (file->pMethods->iVersion < 2) return {};
  void volatile* index = nullptr;
  if (file->pMethods->xShmMap(file, 0, index_region, 0, &index) != SQLITE_OK) {
    return {true, nullptr, nullptr};
  }
  return {false, static_cast<std::uint32_t volatile*>(index), file};
}

}  // namespace

std::optional<log_position> position_of(connection& connection) noexcept {
  const auto index = index_of(connection);
  if (index.failed) return std::nullopt;
  if (index.words == nullptr) return log_position{};
  const auto frames = index.word(frames_word);
  return log_position{frames, index.salts()};
}

std::optional<bool> all_moved_if_known(connection& connection) noexcept {
  const auto index = index_of(connection);
  if (index.failed) return std::nullopt;
  if (index.words == nullptr) return true;
  const auto frames = index.word(frames_word);
  return index.word(moved_word) >= frames;
}

bool all_moved(connection& connection) noexcept {
  return all_moved_if_known(connection).value_or(true);
}

std::uint32_t moved_frames(connection& connection) noexcept {
  const auto index = index_of(connection);
  return index.words == nullptr ? 0 : index.word(moved_word);
}

void count_as_moved(connection& connection, const log_position& log, std::uint32_t before,
                    std::uint32_t after) noexcept {
  const auto index = index_of(connection);
  if (index.words == nullptr) return;
  // SQLite changes the number under this lock, or as it restarts a log of which nothing is left to
  // move.
  constexpr int taken = SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE;
  const auto& methods = *index.file->pMethods;
  if (methods.xShmLock(index.file, checkpoint_lock, 1, taken) != SQLITE_OK) return;
  // In this order: SQLite restarts a log first in the second copy of the header, then in the first
  // one, which has the frames, and in this number last.
  const auto moved = index.word(moved_word);
  const bool some_left = index.word(frames_word) > moved;
  const bool fits = after < before ? moved == before : moved >= before && moved < after;
  if (fits && some_left && index.salts(second_copy) == log.salts) {
    __atomic_store_n(index.words + moved_word, after, __ATOMIC_RELEASE);
  }
  constexpr int given_back = SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE;
  methods.xShmLock(index.file, checkpoint_lock, 1, given_back);
}

bool index_is(connection& connection, const file_mark& index) {
  const auto address = reinterpret_cast<std::uintptr_t>(index_of(connection).words);
  if (address == 0) return true;
  // A line of proc(5): begin-end rights offset device inode path. The device is not compared: some
  // file systems show different ones here and in statx.
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0;
    unsigned long long end = 0;
    unsigned long long inode = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %*s %*s %*s %llu", &begin, &end, &inode) != 3)
      continue;
    if (address >= begin && address < end) return inode == index.number;
  }
  return true;
}

}  // namespace onceguard::sqlite
