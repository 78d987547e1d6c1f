#include "engine/witness.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>
#include <utility>

#include "base/log.hpp"

namespace onceguard {
namespace {

constexpr std::chrono::seconds retry_after{1};

/// Closes its descriptor in the destructor.
class open_file {
 public:
  open_file(const std::string& path, int flags) : fd_(::open(path.c_str(), flags, 0600)) {}
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() {
    if (fd_ >= 0) ::close(fd_);
  }

  [[nodiscard]] bool write(const std::string& text) const {
    if (fd_ < 0) return false;
    const auto written = ::write(fd_, text.data(), text.size());
    // POSIX, write(): where there is room for a part only, that part is written, and errno says
    // nothing.
    if (written >= 0 && static_cast<std::size_t>(written) < text.size()) errno = ENOSPC;
    return written == static_cast<ssize_t>(text.size());
  }
  [[nodiscard]] bool flush() const { return fd_ >= 0 && ::fsync(fd_) == 0; }

 private:
  const int fd_;
};

std::string text_of(const testimony& testimony) {
  return testimony.identity + ' ' + std::to_string(testimony.generation) + ' ' +
         std::to_string(testimony.refuse_until_wall) + ' ' +
         std::to_string(testimony.flagged_until_wall) + ' ' +
         std::to_string(testimony.refuse_length) + ' ' + std::to_string(testimony.flagged_length) +
         '\n';
}

}  // namespace

witness::witness(const std::string& directory) : directory_(directory), path_(path_in(directory)) {
  if (kept()) thread_ = std::thread([this] { run(); });
}

std::string witness::path_in(const std::string& directory) {
  return directory.empty() ? std::string() : directory + "/store.witness";
}

witness::~witness() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::optional<testimony> witness::read() const {
  if (!kept()) return std::nullopt;
  std::ifstream file(path_);
  testimony out;
  if (!(file >> out.identity >> out.generation)) return std::nullopt;
  // A file of an earlier version has fewer fields.
  file >> out.refuse_until_wall >> out.flagged_until_wall;
  file >> out.refuse_length >> out.flagged_length;
  return out;
}

result<void> witness::check() const {
  if (!kept()) return {};
  const auto trial = path_ + ".trial";
  const bool written = [&] {
    const open_file file(trial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
    return file.write("trial\n") && file.flush();
  }();
  const int why = errno;
  ::unlink(trial.c_str());
  if (written) return {};
  return error(errc::invalid_argument, "state_dir " + directory_ +
                                           ": nothing can be written there: " + std::strerror(why) +
                                           "; a restart would not notice that the store lost its "
                                           "memory");
}

/// Flushes the new file before the rename, as after a crash of the machine the name could otherwise
/// be on the disk without the content. Flushes the directory after the rename, as otherwise the old
/// file could still be there.
bool witness::replace(const numbered& given) {
  const std::lock_guard lock(file_);
  if (given.number < written_) return true;  // a later testimony was written already
  // Of this process: during an upgrade two of them write here.
  const auto next = path_ + ".next." + std::to_string(::getpid());
  const bool replaced = [&] {
    {
      const open_file file(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
      if (!file.write(text_of(given.content)) || !file.flush()) return false;
    }
    if (::rename(next.c_str(), path_.c_str()) != 0) return false;
    return open_file(directory_, O_RDONLY | O_DIRECTORY | O_CLOEXEC).flush();
  }();
  if (replaced) {
    written_ = given.number;
  } else {
    const std::string why = std::strerror(errno);
    base::log(base::event::witness_not_written, {{"path", path_}, {"why", why}});
  }
  return replaced;
}

void witness::write(const testimony& testimony) {
  if (!kept()) return;
  numbered now{++given_, testimony};
  if (!replace(now)) hand_over(std::move(now));
}

void witness::write_soon(testimony testimony) {
  if (kept()) hand_over({++given_, std::move(testimony)});
}

void witness::hand_over(numbered next) {
  {
    const std::lock_guard lock(mutex_);
    next_ = std::move(next);
  }
  changed_.notify_one();
}

void witness::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || next_; });
    if (!next_) return;
    auto value = std::move(*next_);
    next_.reset();
    lock.unlock();
    const bool written = replace(value);
    lock.lock();
    if (written) continue;
    changed_.wait_for(lock, retry_after, [this] { return closing_; });
    if (closing_) return;
    if (!next_) next_ = std::move(value);
  }
}

}  // namespace onceguard
