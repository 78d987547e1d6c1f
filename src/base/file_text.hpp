// Whole files, read so that nobody waits for a writer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include <onceguard/error.hpp>

namespace onceguard::base {

enum class file_kind : std::uint8_t {
  regular,  ///< also through symbolic links, as mounted secrets are
  /// A pipe or a device, too, as a shell gives one for `<(command)`: for what is read once, while
  /// somebody waits for it. What has not come after two seconds is not waited for, and a pipe that
  /// gives nothing is an error.
  any,
};

/// The file's bytes. The error says what is wrong, behind the file's name: "can't be read:
/// Permission denied", "is no regular file", "is longer than 1024 bytes". A pipe can't make it
/// block.
[[nodiscard]] result<std::string> read_file(const std::string& path, std::size_t size_max,
                                            file_kind kind = file_kind::regular);

}  // namespace onceguard::base
