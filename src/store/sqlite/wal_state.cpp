#include "store/sqlite/wal_state.hpp"

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>

#include "store/sqlite/location.hpp"

namespace onceguard::sqlite {
namespace {

// The header of the WAL index, after walformat.html of SQLite's documentation, in words of 32 bits.
constexpr int index_region = 32'768;
constexpr std::size_t frames_word = 16 / 4;
constexpr std::size_t moved_word = 96 / 4;

constexpr std::int64_t log_header = 32;

struct pair_mark {
  std::string identity, log_identity;
  std::int64_t token = 0;
  std::int64_t log_base = 0;
  std::int64_t cookie = 0;  // of the schema; VACUUM raises it
};

struct seen {
  std::optional<pair_mark> mark;  ///< none: damaged, or there is no such table
  bool damaged = false;
};

seen read_mark(connection& connection) {
  try {
    pair_mark out;
    auto columns = connection.prepare(
        "SELECT count(*) FROM pragma_table_info('meta') "
        "WHERE name = 'log_base'");
    const bool names_base = columns.step() && columns.integer(0) == 1;
    columns.reset();
    auto row =
        connection.prepare(names_base ? "SELECT identity, token, log_base, log_identity FROM meta"
                                      : "SELECT identity, token, 0, '' FROM meta");
    if (!row.step()) return {std::nullopt, true};
    out.identity = row.bytes(0);
    out.token = row.integer(1);
    out.log_base = row.integer(2);
    out.log_identity = row.bytes(3);
    row.reset();
    out.cookie = connection.integer("PRAGMA schema_version");
    return {out, false};
  } catch (const failure& failed) {
    if (failed.code() == SQLITE_ERROR) return {};  // no such table
    if (failed.code() != SQLITE_CORRUPT && failed.code() != SQLITE_NOTADB) throw;
    return {std::nullopt, true};
  }
}

struct reading {
  connection& target;
  ~reading() { target.roll_back(); }
};

}  // namespace

std::string file_alone(const std::string& path) {
  std::string out = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      constexpr char digits[] = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', digits[byte / 16], digits[byte % 16]};
    } else {
      out.push_back(c);
    }
  }
  return out + "?immutable=1";
}

namespace {

/// The beginning of the WAL index in memory; null: not known.
std::uint32_t volatile* index_of(connection& connection) noexcept {
  sqlite3_file* file = nullptr;
  const int found =
      sqlite3_file_control(connection.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (found != SQLITE_OK || file->pMethods == nullptr) return nullptr;
  if (file->pMethods->iVersion < 2) return nullptr;
  void volatile* index = nullptr;
  const int mapped = file->pMethods->xShmMap(file, 0, index_region, 0, &index);
  return mapped == SQLITE_OK ? static_cast<std::uint32_t volatile*>(index) : nullptr;
}

}  // namespace

std::uint32_t frames_of(connection& connection) noexcept {
  auto* const words = index_of(connection);
  return words == nullptr ? 0 : __atomic_load_n(words + frames_word, __ATOMIC_ACQUIRE);
}

bool index_is(connection& connection, const file_mark& index) {
  const auto address = reinterpret_cast<std::uintptr_t>(index_of(connection));
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

bool all_moved(connection& connection) noexcept {
  auto* const words = index_of(connection);
  if (words == nullptr) return true;
  const auto frames = __atomic_load_n(words + frames_word, __ATOMIC_ACQUIRE);
  return __atomic_load_n(words + moved_word, __ATOMIC_ACQUIRE) >= frames;
}

bool log_belongs(connection& database, const std::string& path, const char* vfs) {
  if (size_of(path + "-wal") <= log_header) return true;
  // First with the log: while a transaction reads, no other process can run a checkpoint as it
  // closes.
  const reading whole{database};
  database.run("BEGIN");
  const auto together = read_mark(database);
  connection file(file_alone(path), vfs, open_as::reader);
  const auto alone = read_mark(file);
  if (alone.damaged) return true;  // by a power cut during a checkpoint: the log repairs the file
  if (!alone.mark) return !together.mark || together.mark->log_base == 0;  // the file's first log
  if (!together.mark) return false;
  // The file may have got another identity within this log.
  const bool same_store = alone.mark->identity == together.mark->identity ||
                          alone.mark->identity == together.mark->log_identity;
  return same_store && alone.mark->cookie <= together.mark->cookie &&
         alone.mark->token >= together.mark->log_base && alone.mark->token <= together.mark->token;
}

std::string foreign_log(const std::string& path) {
  return "sqlite store " + path + ": the log beside it (" + path +
         "-wal) is not this file's: the file was replaced, as by a copy, and the log was left. "
         "Nothing was changed. Stop every process that has the store open; then, to go on with the "
         "file as it is, move " +
         path + "-wal and " + path +
         "-shm away, or, to go on with the log, put the file back that it belongs to. "
         "`onceguard restore FILE` puts a backup in place with nothing left behind";
}

std::string log_without_file(const std::string& path) {
  return "sqlite store " + path + ": the file is missing or empty, but its log (" + path +
         "-wal) is there. Nothing was changed. Put the file back that the log belongs to; or, to "
         "begin without what both held, move " +
         path + "-wal and " + path +
         "-shm away: every operation of before may then run again. `onceguard restore FILE` puts a "
         "backup in place";
}

}  // namespace onceguard::sqlite
