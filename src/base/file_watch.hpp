// Notices that files have changed: certificates and keys that another program renews.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace onceguard::base {

/// Looks at some files each second, on a thread of its own, because a file system may hang.
/// Thread-safety: the destructor waits for a call of `changed` that is running.
class file_watch {
 public:
  /// Notes the present state of the files, so read them for the first time after this. `changed` is
  /// called, on the watch's thread, after any of the files has become another file, or
  /// has got another size or time. A file that appears or goes away has changed, too.
  file_watch(std::vector<std::string> paths, std::function<void()> changed);
  file_watch(const file_watch&) = delete;
  file_watch& operator=(const file_watch&) = delete;
  ~file_watch();

 private:
  void run();

  const std::vector<std::string> paths_;
  const std::function<void()> changed_;
  std::vector<std::string> known_;  // a text for each path that changes with its file
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace onceguard::base
