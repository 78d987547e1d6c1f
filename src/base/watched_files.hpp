// The files that are read again while the process runs, and whether the last reading was refused:
// for the metrics.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>

namespace onceguard::base {

/// One file in use, for as long as this lives. Thread-safe.
class watched_file {
 public:
  explicit watched_file(std::string path);
  ~watched_file();
  watched_file(const watched_file&) = delete;
  watched_file& operator=(const watched_file&) = delete;

  /// The file was read again: tells the log, and remembers whether it was refused.
  void read_again(const result<void>& done);

 private:
  const std::string path_;
  bool refused_ = false;  // under the mutex of all
  friend std::vector<std::pair<std::string, bool>> refused_files();
};

/// Each path in use once, in order, and whether what it holds now was refused.
[[nodiscard]] std::vector<std::pair<std::string, bool>> refused_files();

}  // namespace onceguard::base
