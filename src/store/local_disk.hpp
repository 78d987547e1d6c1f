// The place of a store that is kept in files: what kind of file system it lies on, and how much
// room there is.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace onceguard {

/// The name of the network or user-space file system to which statfs(2) gives this magic number;
/// empty for any other file system. File locks need a local file system.
[[nodiscard]] std::string_view network_file_system(std::int64_t magic) noexcept;
/// The same of the file system on which this file lies; empty also if that is not known.
[[nodiscard]] std::string_view network_file_system_of(const std::string& path) noexcept;

/// The volume of a file, in bytes; -1: the system does not report the value.
struct disk_volume {
  std::int64_t size = -1;
  std::int64_t room = -1;  ///< free for any user
};
[[nodiscard]] disk_volume volume_of(const std::string& path) noexcept;

/// "17 KiB", "4 MiB"
[[nodiscard]] std::string size_text(std::int64_t bytes);

}  // namespace onceguard
