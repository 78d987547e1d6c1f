#include "audit/line_file.hpp"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/clock.hpp"

namespace onceguard {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds patience{100};

std::string text_of_errno() { return std::generic_category().message(errno); }

bool becomes_writable(int descriptor, base::boot_clock::time_point until) {
  const auto left = std::chrono::ceil<milliseconds>(until - base::boot_now()).count();
  pollfd wanted{descriptor, POLLOUT, 0};
  return left > 0 && ::poll(&wanted, 1, static_cast<int>(left)) > 0;
}

}  // namespace

line_file::~line_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

result<void> line_file::open() {
  const std::lock_guard lock(mutex_);
  return open_path();
}

result<void> line_file::open_path() {
  constexpr mode_t owner_only = 0600;
  // O_NONBLOCK: a FIFO must hold up neither the start nor an act.
  const int opened = ::open(
      path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, owner_only);
  if (opened < 0) {
    const auto why = errno == ENXIO ? std::string("nobody reads it") : text_of_errno();
    return error(errc::invalid_argument, "the audit log " + path_ + " can't be opened: " + why);
  }
  struct stat about {};
  regular_ = ::fstat(opened, &about) == 0 && S_ISREG(about.st_mode);
  torn_ = stalled_ = false;
  const int former = std::exchange(descriptor_, opened);
  if (former >= 0) ::close(former);
  return {};
}

bool line_file::leads_elsewhere() const {
  struct stat opened {};
  struct stat named {};
  return ::fstat(descriptor_, &opened) != 0 || ::stat(path_.c_str(), &named) != 0 ||
         opened.st_dev != named.st_dev || opened.st_ino != named.st_ino;
}

result<void> line_file::append(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (leads_elsewhere()) {
    if (auto opened = open_path(); !opened) return opened;
  }
  const auto line = (torn_ ? "\n" : "") + std::string(text);
  std::string why;
  const auto written = write(line, why);
  if (written == line.size()) {
    torn_ = stalled_ = false;
    // A change of a record is on the disk when it is made, and so is the line that says who did.
    if (!regular_ || ::fdatasync(descriptor_) == 0) return {};
    why = text_of_errno();
    return error(errc::invalid_argument, "the audit log " + path_ + " can't be flushed: " + why);
  }
  if (written > 0) take_back(written);
  return error(errc::invalid_argument, "the audit log " + path_ + " can't be written: " + why);
}

/// Returns how many bytes were written; if not all, the reason in `why`.
std::size_t line_file::write(std::string_view text, std::string& why) {
  const auto until = base::boot_now() + patience;
  std::size_t done = 0;
  while (done < text.size()) {
    const auto size = ::write(descriptor_, text.data() + done, text.size() - done);
    if (size >= 0) {
      done += static_cast<std::size_t>(size);
      // The rest could stand behind a line of another process.
      if (!regular_ || done == text.size()) continue;
      why = "only a part of the line fitted";
      break;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {
      if (!stalled_ && becomes_writable(descriptor_, until)) continue;
      stalled_ = true;
      why = "its reader does not keep up";
      break;
    }
    why = text_of_errno();
    break;
  }
  return done;
}

/// A part of a line would spoil the next one.
void line_file::take_back(std::size_t written) {
  torn_ = true;
  if (!regular_) return;
  const auto end = ::lseek(descriptor_, 0, SEEK_CUR);
  struct stat about {};
  // Another process may have appended its own line meanwhile.
  if (end < 0 || ::fstat(descriptor_, &about) != 0 || about.st_size != end) return;
  if (::ftruncate(descriptor_, end - static_cast<off_t>(written)) == 0) torn_ = false;
}

}  // namespace onceguard
