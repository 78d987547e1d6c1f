#include "store/sqlite/wal_damage.hpp"

#include <array>
#include <cstring>
#include <fcntl.h>
#include <span>
#include <unistd.h>
#include <vector>

#include "store/sqlite/location.hpp"

namespace onceguard::sqlite {
namespace {

// The format of the log, after walformat.html of SQLite's documentation.
constexpr std::size_t begin_bytes = 32;
constexpr std::size_t head_bytes = 24;
constexpr std::size_t page_bytes = 4'096;
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
  explicit log_reader(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
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
  ~log_reader() {
    if (file_ >= 0) ::close(file_);
  }

  struct frame {
    std::array<unsigned char, 8> begin{};
    std::array<unsigned char, 8> salts{};
    checksum sum;
    [[nodiscard]] bool commits() const noexcept { return big_endian(begin.data() + 4) != 0; }
  };

  [[nodiscard]] bool readable() const noexcept { return readable_; }
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

 private:
  static off_t offset_of(std::uint32_t number) noexcept {
    return static_cast<off_t>(begin_bytes + (number - 1) * std::size_t{head_bytes + page_bytes});
  }
  static checksum checksum_at(const unsigned char* bytes) noexcept {
    return {big_endian(bytes), big_endian(bytes + 4)};
  }
  [[nodiscard]] bool read(std::span<unsigned char> out, off_t offset) const {
    return ::pread(file_, out.data(), out.size(), offset) == static_cast<ssize_t>(out.size());
  }

  const int file_;
  bool big_ = false;
  bool readable_ = false;
  std::array<unsigned char, 8> salts_{};
};

}  // namespace

/// A transaction is only written behind a committed one. So a frame that continues the checksums of
/// a commit proves that this commit was no remainder of a failed transaction.
bool has_damaged_frames(const std::string& log, std::uint32_t frames) {
  const log_reader file(log);
  if (!file.readable()) return false;
  log_reader::frame head;
  for (auto number = frames + 1; file.read_head(number, head); ++number) {
    if (!file.is_ours(head) || !head.commits()) continue;
    if (file.follows(number + 1, head.sum)) return true;
  }
  return false;
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
