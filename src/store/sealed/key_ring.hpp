// The keys with which answers are encrypted at rest: a file with a line for each, "ID KEY". The
// first seals, all of them open.
#pragma once
#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

#include "base/file_watch.hpp"
#include "base/watched_files.hpp"

namespace onceguard::sealed {

struct ring_key {
  std::string id;  ///< names the key in what it sealed
  std::array<unsigned char, 32> bytes{};
};

class key_ring {
 public:
  /// The error begins with the path and never repeats a key: no such file, others may read it, a
  /// line that is none, an id twice, no key at all.
  [[nodiscard]] static result<key_ring> read(const std::string& path);

  /// Seals. A ring has at least one key.
  [[nodiscard]] const ring_key& active() const noexcept { return keys_.front(); }
  /// Null: the key is not in the ring.
  [[nodiscard]] const ring_key* find(std::string_view id) const noexcept;

 private:
  explicit key_ring(std::vector<ring_key> keys) : keys_(std::move(keys)) {}

  std::vector<ring_key> keys_;
};
using key_ring_ptr = std::shared_ptr<const key_ring>;

/// The ring of a file that is read again when it changes. A content that can't be used is logged
/// (`file-refused`), and the keys stay. Thread-safe.
class ring_file {
 public:
  explicit ring_file(std::string path);

  /// Reads the file; before the first call of keys().
  [[nodiscard]] result<void> read();
  [[nodiscard]] key_ring_ptr keys() const;

 private:
  [[nodiscard]] result<void> take(result<key_ring> ring);

  const std::string path_;
  mutable std::mutex mutex_;  // for the pointer alone
  key_ring_ptr keys_;
  base::watched_file known_{path_};
  base::file_watch watch_;  // the last: its thread uses the others
};

}  // namespace onceguard::sealed
