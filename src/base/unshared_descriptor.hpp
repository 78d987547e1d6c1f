// A file descriptor that no forked process shares.
#pragma once
#include <functional>

namespace onceguard::base {

/// For a file with locks that belong to the open file (`flock`, F_OFD_SETLK). A process that is
/// forked and executes nothing would keep them when its parent has ended: so it closes the file at
/// once. Used by one thread at a time.
class unshared_descriptor {
 public:
  unshared_descriptor();
  ~unshared_descriptor();
  unshared_descriptor(const unshared_descriptor&) = delete;
  unshared_descriptor& operator=(const unshared_descriptor&) = delete;

  /// Takes what `opens` returns, without a lock and with O_CLOEXEC, in place of what it had. False:
  /// that is negative, `errno` says why, and nothing has changed. Called once more if a process was
  /// forked meanwhile, which shares what was opened.
  [[nodiscard]] bool open(const std::function<int()>& opens);
  /// Negative: there is none, as in a forked process.
  [[nodiscard]] int get() const noexcept { return number_; }

 private:
  friend class unshared_descriptors;
  int number_ = -1;
};

}  // namespace onceguard::base
