// The place of a database file: whether one may be kept there, and whether it is still the one
// that was opened.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>

#include <onceguard/error.hpp>

namespace onceguard::sqlite {

/// That this path can't be a store.
[[nodiscard]] error refuse(const std::string& path, std::string_view why);

/// The name of the network (or user space) file system that statfs calls by this magic number;
/// empty where it is none. SQLite's locks and its shared memory need a local file system.
[[nodiscard]] std::string_view network_file_system(std::int64_t magic) noexcept;

/// Refuses a directory, anything else that is not a regular file, a missing or unwritable
/// directory and a network file system. Never opens the file: closing it again would drop the
/// locks that this process holds on it (POSIX).
/// @return the path with symbolic links resolved.
[[nodiscard]] result<std::string> check_location(const std::string& path);

/// The volume of a file, in bytes; -1: the system does not tell.
struct volume {
  std::int64_t size = -1;
  std::int64_t room = -1;  ///< free for anybody
};
[[nodiscard]] volume volume_of(const std::string& path) noexcept;

/// A file as the file system knows it.
struct file_mark {
  dev_t device = 0;
  ino_t number = 0;
  friend bool operator==(const file_mark&, const file_mark&) = default;
};
/// Bytes; 0 where there is no such file.
[[nodiscard]] std::int64_t size_of(const std::string& path) noexcept;

/// All zero where there is no such file.
[[nodiscard]] file_mark mark_of(const std::string& path) noexcept;

}  // namespace onceguard::sqlite
