// The file of the audit log: lines that are only ever appended.
#pragma once
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

namespace onceguard {

/// A file, or what has a path in its place: a FIFO, /dev/stdout. Other processes may append to it,
/// too. Thread-safe. A path that leads elsewhere by now (a file that was renamed or removed) is
/// opened anew before the next line.
class line_file {
 public:
  explicit line_file(std::string path) : path_(std::move(path)) {}
  ~line_file();
  line_file(const line_file&) = delete;
  line_file& operator=(const line_file&) = delete;

  /// Opens the path, which is made with the mode 0600 if nothing is there. After an error what was
  /// open stays open. A FIFO that nobody reads is an error.
  [[nodiscard]] result<void> open();
  /// Appends the text, which ends with a line end: whole, or not at all as far as the file system
  /// allows. In a file it is flushed to the disk. Waits at most 100 ms for a reader,
  /// and not at all for one that kept the line before waiting: many acts must not add their waits
  /// up on the thread that also says how the program is.
  [[nodiscard]] result<void> append(std::string_view text);

 private:
  result<void> open_path();
  [[nodiscard]] bool leads_elsewhere() const;
  std::size_t write(std::string_view text, std::string& why);
  void take_back(std::size_t written);

  const std::string path_;
  std::mutex mutex_;
  int descriptor_ = -1;
  bool regular_ = false;
  bool torn_ = false;     // the last line has no end
  bool stalled_ = false;  // the last line waited for its reader in vain
};

}  // namespace onceguard
