#include "store/sqlite/wal_reader.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "base/url.hpp"
#include "store/sqlite/location.hpp"
#include "store/sqlite/schema.hpp"

namespace onceguard::sqlite {
namespace {

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

/// As random bytes in hexadecimal digits.
bool is_identity(std::string_view text) noexcept {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

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
    // Of a page that was written by half, the head may point to where no row begins.
    if (!is_identity(out.identity)) return {std::nullopt, true};
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
      base::append_escape(out, static_cast<unsigned char>(c));
    } else {
      out.push_back(c);
    }
  }
  return out + "?immutable=1";
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

namespace {

// The format of the log, after walformat.html of SQLite's documentation.
constexpr std::size_t begin_bytes = 32;
constexpr std::size_t head_bytes = 24;
constexpr auto page_bytes = static_cast<std::size_t>(page_size);
constexpr std::uint32_t magic = 0x377f0682;  // the last bit: checksums of big-endian words

std::uint32_t big_endian(const unsigned char* bytes) noexcept {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

struct checksum {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  friend bool operator==(const checksum&, const checksum&) = default;

  void add(std::span<const unsigned char> bytes, bool big) noexcept {
    for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
      first += word(bytes.data() + i, big) + second;
      second += word(bytes.data() + i + 4, big) + first;
    }
  }

 private:
  static std::uint32_t word(const unsigned char* bytes, bool big) noexcept {
    const auto value = big_endian(bytes);
    return big ? value : __builtin_bswap32(value);
  }
};

class log_reader {
 public:
  // To open and close the log is harmless: SQLite's locks are on the database and on the index, and
  // POSIX drops them when a descriptor of those files is closed.
  explicit log_reader(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (!file_.is_open()) {
      if (errno == ENOENT) return;
      throw failure(SQLITE_CANTOPEN, path_ + ": " + std::strerror(errno));
    }
    std::array<unsigned char, begin_bytes> head{};
    if (!read(head, 0)) return;
    const auto kind = big_endian(head.data());
    big_ = kind == (magic | 1);
    checksum sum;
    sum.add(std::span(head).first(24), big_);
    const bool sound = (kind & ~1U) == magic && sum == checksum_at(head.data() + 24);
    // Of a log whose head is damaged, the first frame knows the salts.
    frame first;
    if (!sound && !read_head(1, first)) return;
    std::memcpy(salts_.data(), sound ? head.data() + 16 : first.salts.data(), salts_.size());
    readable_ = true;
  }
  log_reader(const log_reader&) = delete;
  log_reader& operator=(const log_reader&) = delete;

  struct frame {
    std::array<unsigned char, 8> begin{};
    std::array<unsigned char, 8> salts{};
    checksum sum;
    [[nodiscard]] bool commits() const noexcept { return big_endian(begin.data() + 4) != 0; }
  };

  [[nodiscard]] bool readable() const noexcept { return readable_; }
  [[nodiscard]] const std::array<unsigned char, 8>& salts() const noexcept { return salts_; }
  [[nodiscard]] bool read_head(std::uint32_t number, frame& out) const {
    std::array<unsigned char, head_bytes> head{};
    if (!read(head, offset_of(number))) return false;
    std::memcpy(out.begin.data(), head.data(), 8);
    std::memcpy(out.salts.data(), head.data() + 8, 8);
    out.sum = checksum_at(head.data() + 16);
    return true;
  }
  /// Is it a frame of this log, not of an earlier one in the same file?
  [[nodiscard]] bool is_ours(const frame& candidate) const noexcept {
    return candidate.salts == salts_;
  }
  /// Was this frame written as the next one behind a frame with that checksum?
  [[nodiscard]] bool follows(std::uint32_t number, checksum before) const {
    frame head;
    std::vector<unsigned char> page(page_bytes);
    if (!read_head(number, head) || !is_ours(head)) return false;
    if (!read(page, offset_of(number) + static_cast<off_t>(head_bytes))) return false;
    before.add(head.begin, big_);
    before.add(page, big_);
    return before == head.sum;
  }

  static off_t offset_of(std::uint32_t number) noexcept {
    return off_t{begin_bytes} + off_t{number - 1} * off_t{head_bytes + page_bytes};
  }

 private:
  static checksum checksum_at(const unsigned char* bytes) noexcept {
    return {big_endian(bytes), big_endian(bytes + 4)};
  }
  /// False: the log ends before. What the disk does not deliver is thrown: it is not the end.
  [[nodiscard]] bool read(std::span<unsigned char> out, off_t offset) const {
    const auto got = ::pread(file_.get(), out.data(), out.size(), offset);
    if (got < 0) throw failure(SQLITE_IOERR_READ, path_ + ": " + std::strerror(errno));
    return got == static_cast<ssize_t>(out.size());
  }

  const std::string path_;
  const base::descriptor file_;
  bool big_ = false;
  bool readable_ = false;
  std::array<unsigned char, 8> salts_{};
};

}  // namespace

/// A transaction is only written behind a committed one. So a frame that continues the checksums of
/// a commit proves that this commit was no remainder of a failed transaction.
bool has_damaged_frames(const std::string& log, const log_position& read) {
  const log_reader file(log);
  if (!file.readable()) return false;
  // SQLite restarts a log in its index first. If the head of the new log could not be written then,
  // the former one is still in the file: all of it was moved.
  if (read.frames == 0 && big_endian(read.salts.data()) == big_endian(file.salts().data()) + 1) {
    return false;
  }
  log_reader::frame head;
  for (auto number = read.frames + 1; file.read_head(number, head); ++number) {
    if (!file.is_ours(head) || !head.commits()) continue;
    if (file.follows(number + 1, head.sum)) return true;
  }
  return false;
}

frame_range last_transaction(const std::string& log, const log_position& read) {
  const log_reader file(log);
  log_reader::frame head;
  auto first = read.frames;
  for (; first > 1; --first) {
    if (!file.read_head(first - 1, head)) throw failure(SQLITE_IOERR_READ, log + ": can't be read");
    if (head.commits()) break;
  }
  return {log_reader::offset_of(first), log_reader::offset_of(read.frames + 1)};
}

std::string damaged_log(const std::string& path) {
  return "sqlite store " + path + ": the log beside it (" + path +
         "-wal) is damaged, and what was written behind the damage can't be read. Nothing was "
         "changed. Stop every process that has the store open. To go on with what can be read, "
         "move " +
         path + ", " + path + "-wal and " + path +
         "-shm into another directory and give the file there to `onceguard restore FILE`. What "
         "was written behind the damage is then forgotten, and may run again";
}

}  // namespace onceguard::sqlite
