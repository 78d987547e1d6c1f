// Notices that files have changed: certificates and keys that another program renews.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace onceguard::base {

/// Looks at some files each second, on a thread of its own, because a file system may hang.
/// Thread-safety: the destructor waits for a call of what the watch was given, but not for ever.
class file_watch {
 public:
  /// What follows from the files as they are now.
  using change = std::function<void()>;

  /// Notes the present state of the files, so read them for the first time after this. `read` is
  /// called, on the watch's thread, after any of the files has become another file, or has got
  /// another size or time, and has stayed the same until the next look: what somebody is writing is
  /// not read half-way. A file that appears or goes away has changed, too. It only reads, and
  /// what it returns is called on the same thread if the watch still exists: a file system that
  /// hangs may keep `read` until long after that, so it must hold all that it uses.
  file_watch(std::vector<std::string> paths, std::function<change()> read);
  file_watch(const file_watch&) = delete;
  file_watch& operator=(const file_watch&) = delete;
  ~file_watch();

 private:
  class loop;
  std::shared_ptr<loop> loop_;
};

}  // namespace onceguard::base
