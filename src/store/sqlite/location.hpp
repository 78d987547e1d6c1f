// Checks the location of a database file: whether a store may be kept there, and whether the file
// is still the one that was opened.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "store/local_disk.hpp"

namespace onceguard::sqlite {

/// The error for a path that can't be a store: errc::invalid_argument.
[[nodiscard]] error refuse(const std::string& path, std::string_view why);
/// The error for a path that can't be used now: errc::store_unreachable.
[[nodiscard]] error out_of_reach(const std::string& path, std::string_view why);

/// Refuses a directory, any other file that is not regular, and a network file system. A file that
/// is not writable, and a missing or unwritable parent directory, are out of reach. Never opens the
/// file: closing it again would drop the locks that this process holds on the file (POSIX).
/// @return the path with symbolic links resolved.
[[nodiscard]] result<std::string> check_location(const std::string& path);

/// Identifies a file in the file system.
struct file_mark {
  dev_t device = 0;
  ino_t number = 0;
  friend bool operator==(const file_mark&, const file_mark&) = default;
};
/// In bytes; 0 if there is no such file.
[[nodiscard]] std::int64_t size_of(const std::string& path) noexcept;

/// All zero if there is no such file.
[[nodiscard]] file_mark mark_of(const std::string& path) noexcept;

/// Why the file may be open under another name at the same time; empty if it has one name. The
/// write-ahead log and its index are found by the name of the file: processes that use two names
/// would not see each other's records.
[[nodiscard]] std::string second_name_of(const std::string& path);

/// Tells when a process that had a file open may create another one in its place: not while the
/// file may have been moved away for a moment.
class absence {
 public:
  explicit absence(milliseconds grace) noexcept : grace_(grace) {}
  /// Has the file been missing at each call for so long?
  [[nodiscard]] bool is_final(const std::string& path);

 private:
  const milliseconds grace_;
  std::optional<base::boot_clock::time_point> since_;
};

}  // namespace onceguard::sqlite
