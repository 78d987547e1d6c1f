// The file in `state_dir` by which a restarted process knows what it had heard of the store.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <onceguard/error.hpp>

namespace onceguard {

/// What the file says. Its points in time are those of the wall clock, which a restart of the
/// machine leaves in place.
struct testimony {
  std::string identity;
  std::uint64_t generation = 0;
  std::int64_t refuse_until_wall = 0;   ///< 0: no
  std::int64_t flagged_until_wall = 0;  ///< 0: no
};

/// A crash leaves the file of before or that of after, whole. Used by one thread at a time.
class witness {
 public:
  /// An empty directory: nothing is kept.
  explicit witness(const std::string& directory);
  ~witness();  ///< after the last testimony was written, or could not be
  witness(const witness&) = delete;
  witness& operator=(const witness&) = delete;

  [[nodiscard]] bool kept() const noexcept { return !path_.empty(); }
  /// None: there is no file, or nothing that can be read in it.
  [[nodiscard]] std::optional<testimony> read() const;
  /// Can it be written at all? errc::invalid_argument: no, and why.
  [[nodiscard]] result<void> check() const;
  /// In the place of what was written before. On the disk when it returns, or logged and tried
  /// again each second.
  void write(const testimony& testimony);
  /// The same on a thread of its own, for what comes each second: a flush may take long, and the
  /// caller serves requests.
  void write_soon(testimony testimony);

 private:
  struct numbered {
    std::uint64_t number = 0;
    testimony what;
  };
  [[nodiscard]] bool replace(const numbered& next);
  void hand_over(numbered next);
  void run();

  const std::string directory_;
  const std::string path_;
  std::uint64_t given_ = 0;  // belongs to the caller's thread
  std::mutex file_;          // guards what follows, and the file
  std::uint64_t written_ = 0;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::optional<numbered> next_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace onceguard
