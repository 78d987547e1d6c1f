// The file in `state_dir` from which a restarted process learns the store's earlier vitals.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <onceguard/error.hpp>

namespace onceguard {

/// The content of the file. Its points in time are those of the wall clock, which continues across
/// a restart of the machine.
struct testimony {
  std::string identity;
  std::uint64_t generation = 0;
  std::int64_t refuse_until_wall = 0;   ///< 0: no
  std::int64_t flagged_until_wall = 0;  ///< 0: no
  // How long these periods were when they began, in ms; 0: an earlier version did not say.
  std::int64_t refuse_length = 0;
  std::int64_t flagged_length = 0;
};

/// After a crash, the file has either the old or the new content, never a mixture. Use it on one
/// thread at a time.
class witness {
 public:
  /// With an empty `directory`, nothing is kept.
  explicit witness(const std::string& directory);
  ~witness();  ///< waits until the last testimony was written or has failed
  witness(const witness&) = delete;
  witness& operator=(const witness&) = delete;

  /// The file in a directory; empty: in none.
  [[nodiscard]] static std::string path_in(const std::string& directory);

  [[nodiscard]] bool kept() const noexcept { return !path_.empty(); }
  /// None: there is no file, or the file is unreadable.
  [[nodiscard]] std::optional<testimony> read() const;
  /// Whether the file can be written; errc::invalid_argument gives the reason if not.
  [[nodiscard]] result<void> check() const;
  /// Replaces the file. The new content is on the disk when the call returns; otherwise the error
  /// is logged and the write is repeated each second.
  void write(const testimony& testimony);
  /// The same on a separate thread, for the write of each second: a flush may take long, and the
  /// caller's thread serves requests.
  void write_soon(testimony testimony);

 private:
  struct numbered {
    std::uint64_t number = 0;
    testimony content;
  };
  [[nodiscard]] bool replace(const numbered& next);
  void hand_over(numbered next);
  void run();

  const std::string directory_;
  const std::string path_;
  std::uint64_t given_ = 0;  // used only on the caller's thread
  std::mutex file_;          // guards `written_` and the file
  std::uint64_t written_ = 0;
  std::mutex mutex_;  // guards the next three members
  std::condition_variable changed_;
  std::optional<numbered> next_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace onceguard
