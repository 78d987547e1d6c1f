// A file that appears under its name once it is whole and on the disk.
#pragma once
#include <fstream>
#include <string>

#include <onceguard/error.hpp>

namespace onceguard::cli {

/// For the eyes of its owner alone. What is not finished goes away.
class new_file {
 public:
  explicit new_file(const std::string& path);
  ~new_file();
  new_file(const new_file&) = delete;
  new_file& operator=(const new_file&) = delete;

  /// errc::conflict: a file of that name is there; errc::invalid_argument: it can't be made.
  [[nodiscard]] result<void> open();
  [[nodiscard]] std::ostream& stream() noexcept { return out_; }
  /// What was put into the stream so far has gone out.
  [[nodiscard]] result<void> flush();
  [[nodiscard]] result<void> finish();

 private:
  [[nodiscard]] error failure() const;

  const std::string path_;
  const std::string part_;  // until it is whole
  std::ofstream out_;
};

}  // namespace onceguard::cli
