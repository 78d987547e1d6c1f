// Writes a file that gets its name only once it is complete and on the disk.
#pragma once
#include <fstream>
#include <string>

#include <onceguard/error.hpp>

namespace onceguard::cli {

/// Only the file's owner can read it. An unfinished file is removed.
class new_file {
 public:
  explicit new_file(const std::string& path);
  ~new_file();
  new_file(const new_file&) = delete;
  new_file& operator=(const new_file&) = delete;

  /// errc::conflict: a file with that name exists; errc::invalid_argument: the file can't be
  /// created.
  [[nodiscard]] result<void> open();
  [[nodiscard]] std::ostream& stream() noexcept { return out_; }
  /// Writes out everything in the stream, and reports a failure.
  [[nodiscard]] result<void> flush();
  [[nodiscard]] result<void> finish();

 private:
  [[nodiscard]] error failure() const;

  const std::string path_;
  const std::string part_;  // the name until the file is complete
  std::ofstream out_;
};

}  // namespace onceguard::cli
