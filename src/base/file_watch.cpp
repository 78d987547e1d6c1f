#include "base/file_watch.hpp"

#include <chrono>
#include <exception>
#include <sys/stat.h>

#include "base/log.hpp"

namespace onceguard::base {
namespace {

constexpr std::chrono::seconds interval{1};

/// Changes with the file. Empty: there is none.
std::string stamp_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  std::string out;
  const auto add = [&](auto number) { out += std::to_string(number) + ' '; };
  add(found.st_dev);
  add(found.st_ino);
  add(found.st_size);
  for (const auto& time : {found.st_mtim, found.st_ctim}) {
    add(time.tv_sec);
    add(time.tv_nsec);
  }
  return out;
}

std::vector<std::string> stamps_of(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  out.reserve(paths.size());
  for (const auto& path : paths) out.push_back(stamp_of(path));
  return out;
}

}  // namespace

file_watch::file_watch(std::vector<std::string> paths, std::function<void()> changed)
    : paths_(std::move(paths)),
      changed_(std::move(changed)),
      known_(stamps_of(paths_)),
      thread_([this] { run(); }) {}

file_watch::~file_watch() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void file_watch::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval, [this] { return ended_; })) {
    lock.unlock();
    auto now = stamps_of(paths_);
    if (now != known_) {
      known_ = std::move(now);
      try {
        changed_();
      } catch (const std::exception& fault) {
        log(event::background_work_failed, {{"task", "file watch"}, {"why", fault.what()}});
      }
    }
    lock.lock();
  }
}

}  // namespace onceguard::base
