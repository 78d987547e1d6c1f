#include "base/watched_files.hpp"

#include <map>
#include <mutex>
#include <set>

#include "base/log.hpp"

namespace onceguard::base {
namespace {

struct readers {
  std::mutex mutex;
  std::set<const watched_file*> all;
};

readers& in_use() {
  static readers out;
  return out;
}

}  // namespace

watched_file::watched_file(std::string path) : path_(std::move(path)) {
  const std::lock_guard lock(in_use().mutex);
  in_use().all.insert(this);
}

watched_file::~watched_file() {
  const std::lock_guard lock(in_use().mutex);
  in_use().all.erase(this);
}

void watched_file::read_again(const result<void>& done) {
  {
    const std::lock_guard lock(in_use().mutex);
    refused_ = !done;
  }
  if (done) return log(event::file_read_again, {{"path", path_}});
  log(event::file_refused, {{"path", path_}, {"why", done.error().detail}});
}

std::vector<std::pair<std::string, bool>> refused_files() {
  std::map<std::string, bool> out;
  const std::lock_guard lock(in_use().mutex);
  for (const auto* one : in_use().all) out[one->path_] |= one->refused_;
  return {out.begin(), out.end()};
}

}  // namespace onceguard::base
