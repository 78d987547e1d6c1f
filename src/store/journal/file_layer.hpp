// The files of a journal, as far as the store needs files. Tests put faults in between.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

namespace onceguard::journal {

/// An open file. Reads may come from any thread, writes from one thread at a time.
class file {
 public:
  file() = default;
  file(const file&) = delete;
  file& operator=(const file&) = delete;
  virtual ~file() = default;

  // Each returns 0, or the errno.

  /// Writes all of `bytes`.
  [[nodiscard]] virtual int write(std::string_view bytes, std::uint64_t offset) = 0;
  /// Reads up to `size` bytes into `to`. Fewer are `got` only at the end of the file.
  [[nodiscard]] virtual int read(char* target, std::size_t size, std::uint64_t offset,
                                 std::size_t& got) const = 0;
  /// What was written before is on the disk afterwards.
  [[nodiscard]] virtual int flush() = 0;
  /// Writes all of `bytes`, which are on the disk afterwards. Of what was written before, nothing
  /// is said.
  [[nodiscard]] virtual int write_through(std::string_view bytes, std::uint64_t offset) {
    const int failed = write(bytes, offset);
    return failed != 0 ? failed : flush();
  }
  [[nodiscard]] virtual int truncate(std::uint64_t size) = 0;
  /// Reserves the blocks up to `size`, all of them zero, so that a later write needs no room.
  [[nodiscard]] virtual int reserve(std::uint64_t size) = 0;
  [[nodiscard]] virtual int size(std::uint64_t& out) const = 0;
  /// From there on all bytes are zero: they were reserved and never written. To be asked before
  /// anything is read, as some file systems (ext4) count reserved bytes that were read as written.
  [[nodiscard]] virtual std::uint64_t written_end() const {
    return std::numeric_limits<std::uint64_t>::max();
  }
  /// A block that was written once is overwritten where it is, and the file system notes nothing of
  /// its own for that.
  [[nodiscard]] virtual bool overwrites_blocks() const { return false; }
};

enum class open_file : std::uint8_t { existing, created };

/// One folder, in which no other process of this program writes while the object lives.
class file_layer {
 public:
  file_layer() = default;
  file_layer(const file_layer&) = delete;
  file_layer& operator=(const file_layer&) = delete;
  virtual ~file_layer() = default;

  [[nodiscard]] virtual result<std::unique_ptr<file>> open(const std::string& name,
                                                           open_file mode) = 0;
  /// The names in the folder, in no order.
  [[nodiscard]] virtual result<std::vector<std::string>> list() = 0;
  [[nodiscard]] virtual result<void> rename(const std::string& former,
                                            const std::string& target) = 0;
  [[nodiscard]] virtual result<void> remove(const std::string& name) = 0;
  /// The names in the folder are on the disk afterwards.
  [[nodiscard]] virtual result<void> flush_names() = 0;
  /// Whether `path` still leads to this folder, and `name` in it to the file that was opened. An
  /// error: that can't be known now.
  [[nodiscard]] virtual result<bool> still_there(const std::string& name,
                                                 const file& opened) const = 0;
  /// The folder, for people.
  [[nodiscard]] virtual const std::string& location() const noexcept = 0;
};

[[nodiscard]] bool is_full_disk(int number) noexcept;

/// The error of a failed act on the files of `location`.
[[nodiscard]] error to_error(int number, const std::string& location, std::string_view act,
                             effect on_store = effect::none);

/// Why a journal can't be at this path, whatever is there; empty: it may be.
[[nodiscard]] std::string path_fault(std::string_view path);

/// Opens the folder, makes it if it is missing, and locks it for this process.
/// errc::invalid_argument: it can't be the folder of a journal. errc::store_unreachable: another
/// process has it, or a right is missing.
[[nodiscard]] result<std::unique_ptr<file_layer>> open_folder(const std::string& path);

/// To read files that nobody changes: the folder is not locked.
[[nodiscard]] result<std::unique_ptr<file_layer>> open_folder_to_read(const std::string& path);

/// The number of the process that has the journal open, empty if that is not known. None: no
/// process has it.
[[nodiscard]] std::optional<std::string> find_owner(const std::string& path);

}  // namespace onceguard::journal
