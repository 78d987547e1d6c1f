#include "base/file_watch.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <sys/stat.h>
#include <thread>

#include "base/log.hpp"

namespace onceguard::base {
namespace {

constexpr std::chrono::seconds interval{1};
/// For which a watch that ends waits for a file system.
constexpr std::chrono::seconds patience{1};

/// Changes with the file. Empty: there is none.
std::string file_stamp(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  std::string out;
  const auto add = [&](auto number) { out += std::to_string(number) + ' '; };
  add(found.st_dev);
  add(found.st_ino);
  add(found.st_size);
  // cp -p and the like set the first one back; the second one can not be set.
  for (const auto& time : {found.st_mtim, found.st_ctim}) {
    add(time.tv_sec);
    add(time.tv_nsec);
  }
  return out;
}

std::vector<std::string> file_stamps(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  out.reserve(paths.size());
  for (const auto& path : paths) out.push_back(file_stamp(path));
  return out;
}

}  // namespace

/// Shared with the thread, which may outlive the watch.
class file_watch::loop {
 public:
  loop(std::vector<std::string> paths, std::function<change()> read)
      : paths_(std::move(paths)), read_(std::move(read)), known_(file_stamps(paths_)) {}

  static void start(const std::shared_ptr<loop>& self) {
    self->thread_ = std::thread([self] { self->run(); });
  }

  void end() {
    std::unique_lock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
    const bool over = changed_.wait_for(lock, patience, [this] { return over_; });
    lock.unlock();
    if (over) {
      thread_.join();
    } else {
      thread_.detach();  // it waits for a file system that hangs
    }
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, interval, [this] { return ended_; })) {
      lock.unlock();
      auto now = file_stamps(paths_);
      change follows;
      // The same at two looks: nobody has written in between.
      if (now != known_ && now == seen_) {
        follows = guarded(read_);
        // Somebody may have begun to write meanwhile, and half of it may have been read.
        const bool whole = file_stamps(paths_) == now;
        if (whole) known_ = now;
        if (!whole) follows = nullptr;
      }
      seen_ = std::move(now);
      lock.lock();
      if (!ended_ && follows) guarded(follows);
    }
    over_ = true;
    changed_.notify_all();
  }

  template <class Call>
  static auto guarded(const Call& call) -> decltype(call()) {
    try {
      return call();
    } catch (const std::exception& fault) {
      log(event::background_work_failed, {{"task", "file watch"}, {"why", fault.what()}});
    }
    return decltype(call())();
  }

  const std::vector<std::string> paths_;
  const std::function<change()> read_;
  // A text for each path that changes with its file:
  std::vector<std::string> known_;  // of what was read
  std::vector<std::string> seen_;   // at the last look
  std::mutex mutex_;                // also while a change is carried out
  std::condition_variable changed_;
  bool ended_ = false;
  bool over_ = false;
  std::thread thread_;
};

file_watch::file_watch(std::vector<std::string> paths, std::function<change()> read)
    : loop_(std::make_shared<loop>(std::move(paths), std::move(read))) {
  loop::start(loop_);
}

file_watch::~file_watch() { loop_->end(); }

}  // namespace onceguard::base
